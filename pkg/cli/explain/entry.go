// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"strings"

	granular "kube-granular.dev/granular/schema"
	"kube-granular.dev/pkg/cli/kinds"
)

// Explanation is a field of a kind and what lies below it.
type Explanation struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
	// Resources are those that a role names to grant the verbs.
	Resources []string `json:"resources"`
	Field     Entry    `json:"field"`
}

// Entry is one field.
type Entry struct {
	// Path leads to the field in any object: .metadata.labels[*].
	Path        string `json:"path"`
	Type        string `json:"type"`
	Description string `json:"description,omitempty"`
	// Verbs are those that begin at the field, most general first.
	Verbs []Verb `json:"verbs,omitempty"`
	// CoveredBy are all verbs of which one must be held to change the field field by
	// field, most general first. Without any nobody can.
	CoveredBy []string `json:"coveredBy,omitempty"`
	// Excluded fields are no part of create, update and patch.
	Excluded bool `json:"excluded"`
	// Scope is put before the names of all permissions below.
	Scope string `json:"scope,omitempty"`
	// System fields are written by the server alone.
	System bool    `json:"system,omitempty"`
	Fields []Entry `json:"fields,omitempty"`
	// Folded counts the fields below that are not shown.
	Folded int `json:"folded,omitempty"`

	name string
}

// Verb is one permission verb.
type Verb struct {
	// Verb is as a role has it. In place of a parameter stands what it is made of, in angle
	// brackets.
	Verb      string     `json:"verb"`
	Excluded  bool       `json:"excluded"`
	Parameter *Parameter `json:"parameter,omitempty"`
}

// Parameter is what stands between the parentheses of a verb.
type Parameter struct {
	Source    string `json:"source"`
	Treatment string `json:"treatment,omitempty"`
	// Computed says that an expression of the definition makes the parameter.
	Computed bool `json:"computed,omitempty"`
}

// New explains the field of a kind at a path, "" for all of it. It shows what has verbs of its
// own, and folds what an object embeds; recursive shows every field.
func New(k *kinds.Kind, path string, recursive bool) (*Explanation, error) {
	at, err := k.Find(path)
	if err != nil {
		return nil, err
	}
	out := &Explanation{
		Group: k.Kind.Group, Version: k.Kind.Version, Kind: k.Kind.Kind,
		Field: describe(at),
	}
	for _, r := range k.Grantable() {
		out.Resources = append(out.Resources, qualified(r, k.Kind.Group))
	}
	out.Field.add(at, recursive)
	return out, nil
}

// qualified writes a resource and its group as deployments.apps/status.
func qualified(resource, group string) string {
	name, sub, found := strings.Cut(resource, "/")
	if group != "" {
		name += "." + group
	}
	if found {
		name += "/" + sub
	}
	return name
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

func verb(p *granular.Permission) Verb {
	out := Verb{Verb: kinds.VerbOf(p), Excluded: p.Excluded}
	if from := p.Parameter; from != nil {
		out.Parameter = &Parameter{Source: from.Source, Treatment: string(from.Treatment), Computed: from.Expression != nil}
	}
	return out
}

// add adds what lies below a field.
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

// count returns how many fields below have verbs of their own.
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
