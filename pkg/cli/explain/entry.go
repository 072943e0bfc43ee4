// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"strings"

	"kube-granular.dev/granular/decide"
	"kube-granular.dev/granular/schema"
	"kube-granular.dev/pkg/cli/kinds"
)

// Explanation describes a field of a kind and the fields below it.
type Explanation struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
	// Resources are the resources that a role names to grant the verbs.
	Resources []string `json:"resources"`
	// Subresources are the subresources with objects of another kind, such as scale.
	Subresources []Subresource `json:"subresources,omitempty"`
	Field        Entry         `json:"field"`
}

// Subresource is a subresource with objects of another kind.
type Subresource struct {
	// Resource is formatted as deployments.apps/scale.
	Resource string `json:"resource"`
	// Kind is the kind of its objects, such as Scale.
	Kind string `json:"kind"`
	// Fields are the fields that are changed through the subresource and have verbs.
	Fields []SubresourceField `json:"fields"`
}

// SubresourceField is a field of a Subresource.
type SubresourceField struct {
	Path string `json:"path"`
	// CoveredBy are the verbs of which one is needed, most general first.
	CoveredBy []string `json:"coveredBy"`
}

// Entry describes one field.
type Entry struct {
	// Path is the path of the field, such as .metadata.labels[*].
	Path        string `json:"path"`
	Type        string `json:"type"`
	Description string `json:"description,omitempty"`
	// Verbs are the verbs of the permissions that are declared at the field, most general first.
	Verbs []Verb `json:"verbs,omitempty"`
	// CoveredBy are all verbs that allow a change of the field, most general first. One of them is
	// enough. If there is none, no permission verb can allow a change of the field.
	CoveredBy []string `json:"coveredBy,omitempty"`
	// Excluded is true if the verbs create, update and patch do not include the field, so that
	// every caller needs one of the verbs of CoveredBy.
	Excluded bool `json:"excluded"`
	// Scope is the prefix of the names of all permissions below the field, such as podTemplate. It
	// is empty if no scope begins at the field.
	Scope string `json:"scope,omitempty"`
	// System is true if only the server writes the field.
	System bool    `json:"system,omitempty"`
	Fields []Entry `json:"fields,omitempty"`
	// Folded is the number of fields below this one that have verbs and are not shown.
	Folded int `json:"folded,omitempty"`

	name string
}

// Verb describes one permission verb.
type Verb struct {
	// Verb is the verb as in a role. A parameter is shown as its description in angle brackets.
	Verb      string     `json:"verb"`
	Excluded  bool       `json:"excluded"`
	Parameter *Parameter `json:"parameter,omitempty"`
}

// Parameter describes the text in the parentheses of a verb.
type Parameter struct {
	Source    string `json:"source"`
	Treatment string `json:"treatment,omitempty"`
	// Computed is true if an expression of the definition computes the parameter.
	Computed bool `json:"computed,omitempty"`
}

// New describes the field at a path of a kind, and the fields below it that have verbs of their
// own. The path "" is the whole object. Inside an embedded object, such as a pod template, New
// does not describe these fields and only counts them. If recursive is true, New describes all
// fields below, including those inside embedded objects and those without verbs.
func New(k *kinds.Kind, path string, recursive bool) (*Explanation, error) {
	current, err := k.Find(path)
	if err != nil {
		return nil, err
	}
	out := &Explanation{
		Group: k.Kind.Group, Version: k.Kind.Version, Kind: k.Kind.Kind,
		Field: describe(current),
	}
	for _, r := range k.Grantable() {
		out.Resources = append(out.Resources, kinds.Qualified(k.Kind.Group, r))
	}
	out.Field.add(current, recursive)
	for _, part := range k.Parts() {
		if part.Tree == k.Tree {
			continue
		}
		subresource, _ := k.Subresource(part.Subresource)
		sub := Subresource{Resource: kinds.Qualified(k.Kind.Group, k.Resource.Resource+"/"+part.Subresource), Kind: subresource.Kind.Kind}
		for place := range part.Tree.NodePaths() {
			if !part.Has(k, place) || len(place.Node().Own()) == 0 || !strings.HasPrefix(place.Pattern(), current.Path) {
				continue
			}
			field := SubresourceField{Path: place.Pattern()}
			candidates, _ := decide.Candidates(place.Node())
			for _, p := range candidates {
				field.CoveredBy = append(field.CoveredBy, kinds.VerbOf(p))
			}
			sub.Fields = append(sub.Fields, field)
		}
		if len(sub.Fields) > 0 {
			out.Subresources = append(out.Subresources, sub)
		}
	}
	return out, nil
}

func describe(f *kinds.Field) Entry {
	e := Entry{
		Path: f.Path, Type: f.Type, Description: f.Description,
		Excluded: f.Excluded, Scope: f.Scope, System: f.System, name: f.Name,
	}
	if f.System {
		return e
	}
	for _, p := range f.Own {
		e.Verbs = append(e.Verbs, verb(p))
	}
	for _, p := range f.Cover {
		e.CoveredBy = append(e.CoveredBy, kinds.VerbOf(p))
	}
	return e
}

func verb(p *schema.Permission) Verb {
	out := Verb{Verb: kinds.VerbOf(p), Excluded: p.Excluded}
	if parameter := p.Parameter; parameter != nil {
		out.Parameter = &Parameter{Source: parameter.Source, Treatment: string(parameter.Treatment), Computed: parameter.Expression != nil}
	}
	return out
}

// add adds entries for the fields below f.
func (e *Entry) add(f *kinds.Field, recursive bool) {
	for _, below := range f.Fields() {
		if !recursive && !below.HasPermissions() && f.Path != "" {
			continue
		}
		entry := describe(below)
		if !recursive && below.Scope != "" {
			entry.Folded = count(below)
		} else {
			entry.add(below, recursive)
		}
		e.Fields = append(e.Fields, entry)
	}
}

// count returns the number of fields below f with verbs of their own.
func count(f *kinds.Field) int {
	n := 0
	for _, below := range f.Fields() {
		if !below.HasPermissions() {
			continue
		}
		if len(below.Own) > 0 {
			n++
		}
		n += count(below)
	}
	return n
}
