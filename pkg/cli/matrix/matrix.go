// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package matrix

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"kube-granular.dev/granular/decide"
	"kube-granular.dev/granular/permission"
	"kube-granular.dev/granular/schema"
	"kube-granular.dev/pkg/cli/access"
	"kube-granular.dev/pkg/cli/kinds"
)

// Level is the extent to which a subject has a permission: fully, in part or not at all.
type Level int

// The levels, from lowest to highest.
const (
	No Level = iota
	Some
	Yes
)

var levels = [...]string{No: "no", Some: "some", Yes: "yes"}

// String returns no, some or yes.
func (l Level) String() string { return levels[l] }

// MarshalText implements encoding.TextMarshaler.
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// Cell is the access of one subject to one permission.
type Cell struct {
	Level Level `json:"level"`
	// Verb is the held verb that allows the change: update, patch, the verb of the permission, or
	// the verb of a more general permission. It is empty if Level is No.
	Verb string `json:"verb,omitempty"`
	// Binding is the binding that grants Verb.
	Binding string `json:"binding,omitempty"`
}

// Row is one permission of a resource.
type Row struct {
	// Resource is formatted as deployments.apps/status.
	Resource string `json:"resource"`
	// Verb is the verb of the permission, such as granular:label(<label-key prefix>).
	Verb string `json:"verb"`
	// Fields are the paths of the fields with the permission.
	Fields []string `json:"fields"`
	// Excluded is true if update and patch do not include the permission.
	Excluded bool `json:"excluded,omitempty"`
	// Cells has a cell for each subject of the Matrix, in the same order.
	Cells []Cell `json:"cells"`
}

// Matrix shows for each permission which subjects have it.
type Matrix struct {
	// Namespace is the namespace that the matrix is for, or "" for all namespaces.
	Namespace string   `json:"namespace,omitempty"`
	Subjects  []string `json:"subjects"`
	Rows      []Row    `json:"rows"`
}

// Subject is a column of the matrix: a user, group or service account with the rules that it holds.
type Subject struct {
	Name string
	Held []access.HeldRule
}

// New computes the matrix for the permissions of kinds and for subjects in a namespace, or in all
// namespaces if namespace is "".
func New(all []*kinds.Kind, subjects []Subject, namespace string) *Matrix {
	out := &Matrix{Namespace: namespace, Subjects: []string{}, Rows: []Row{}}
	for _, s := range subjects {
		out.Subjects = append(out.Subjects, s.Name)
	}
	for _, k := range all {
		out.Rows = append(out.Rows, rowsOf(k, subjects, namespace)...)
	}
	return out
}

// rowsOf returns the rows for the permissions of a kind, in the order of their fields.
func rowsOf(k *kinds.Kind, subjects []Subject, namespace string) []Row {
	_, status := k.Subresource("status")
	indexes := map[string]int{}
	var out []Row
	add := func(place schema.NodePath, subresource string) {
		target := access.Target{Group: k.Resource.Group, Version: k.Resource.Version, Resource: k.Resource.Resource, Subresource: subresource}
		resource := k.String()
		if subresource != "" {
			resource += "/" + subresource
		}
		if k.Namespaced {
			target.Namespace = namespace
		}
		candidates, excluded := decide.Candidates(place.Node())
		for _, own := range place.Node().Own() {
			row := Row{Resource: resource, Verb: kinds.VerbOf(own), Fields: []string{place.Pattern()}, Excluded: excluded && own.Excluded}
			for _, s := range subjects {
				row.Cells = append(row.Cells, cell(s.Held, target, permissionsUpTo(candidates, own), excluded, k.Namespaced && namespace == ""))
			}
			key := row.Resource + " " + row.Verb
			if i, known := indexes[key]; known {
				out[i].merge(row)
				continue
			}
			indexes[key] = len(out)
			out = append(out, row)
		}
	}
	for place := range k.Tree.NodePaths() {
		// If there is a status subresource, the status is written only through it.
		if len(place) > 1 && place[1].Field == "status" && status {
			add(place, "status")
		} else {
			add(place, "")
		}
	}
	for _, part := range k.Parts() {
		for place := range part.Tree.NodePaths() {
			if part.Tree != k.Tree && part.Has(k, place) {
				add(place, part.Subresource)
			}
		}
	}
	return out
}

// permissionsUpTo returns own and the permissions that include it. These are the ones before own
// in candidates, which has the permissions that cover a field from general to specific.
func permissionsUpTo(candidates []*schema.Permission, own *schema.Permission) []*schema.Permission {
	return candidates[:slices.Index(candidates, own)+1]
}

// merge adds s to r. s is the row of the same permission for another field. A cell whose level
// differs between the two rows gets the level Some.
func (r *Row) merge(s Row) {
	if !slices.Contains(r.Fields, s.Fields[0]) {
		r.Fields = append(r.Fields, s.Fields[0])
	}
	for i := range r.Cells {
		if a, b := &r.Cells[i], s.Cells[i]; a.Level != b.Level {
			if b.Level > a.Level {
				a.Verb, a.Binding = b.Verb, b.Binding
			}
			a.Level = Some
		}
	}
}

// cell returns whether a subject with the rules held may change a field, decided as in the server.
// A holder of update or patch may change a field that is not excluded. Any other caller needs the
// verb granular and one of the permissions in candidates. For an excluded field, a holder of
// update or patch needs one of these permissions too. everywhere is true if the matrix is for all
// namespaces and the resource is namespaced.
func cell(held []access.HeldRule, target access.Target, candidates []*schema.Permission, excluded, everywhere bool) Cell {
	ordinary := maxCell(verb(held, "update", target, everywhere), verb(held, "patch", target, everywhere))
	marked := verb(held, permission.General, target, everywhere)
	var fields Cell
	for _, p := range candidates {
		name := permission.Verb{Permission: p.Name}.String()
		if p.Parameter == nil {
			fields = maxCell(fields, verb(held, name, target, everywhere))
		} else {
			fields = maxCell(fields, parameterized(held, name+"(", target, everywhere))
		}
	}
	if excluded {
		fields.Level = min(fields.Level, max(ordinary.Level, marked.Level))
		return fields.normalize()
	}
	fields.Level = min(fields.Level, marked.Level)
	return maxCell(ordinary, fields).normalize()
}

func (c Cell) normalize() Cell {
	if c.Level == No {
		return Cell{}
	}
	return c
}

func maxCell(a, b Cell) Cell {
	if b.Level > a.Level {
		return b
	}
	return a
}

// verb returns the highest level to which one of the rules in held grants a verb for a target.
func verb(held []access.HeldRule, verb string, target access.Target, everywhere bool) Cell {
	var out Cell
	for _, h := range held {
		out = maxCell(out, Cell{level(h, verb, target, everywhere), verb, h.Binding})
	}
	return out
}

// parameterized returns the highest level to which one of the rules in held grants a verb with a
// parameter. prefix is that verb up to the opening parenthesis. A rule that lists such a verb
// gives at most Some, because the verb allows only one parameter. A rule with the verb * can give
// Yes.
func parameterized(held []access.HeldRule, prefix string, target access.Target, everywhere bool) Cell {
	var out Cell
	for _, h := range held {
		for _, v := range h.Rule.Verbs {
			switch {
			case v == rbacv1.VerbAll:
				out = maxCell(out, Cell{level(h, v, target, everywhere), v, h.Binding})
			case strings.HasPrefix(v, prefix):
				out = maxCell(out, Cell{min(Some, level(h, v, target, everywhere)), v, h.Binding})
			}
		}
	}
	return out
}

// level returns the level to which one rule grants a verb for a target.
func level(h access.HeldRule, verb string, target access.Target, everywhere bool) Level {
	if h.Namespace != "" && h.Namespace != target.Namespace && !(everywhere && target.Namespace == "") {
		return No
	}
	rule, names := h.Rule, h.Rule.ResourceNames
	rule.ResourceNames = nil
	switch {
	case !access.Grants(rule, verb, target):
		return No
	case len(names) > 0, h.Namespace != "" && everywhere:
		return Some
	}
	return Yes
}

// Counts returns, for each subject, the number of permissions of a resource whose cell is Yes and
// of those whose cell is Some. all is the number of permissions of the resource.
func (m *Matrix) Counts(resource string) (yes, some []int, all int) {
	yes, some = make([]int, len(m.Subjects)), make([]int, len(m.Subjects))
	for _, r := range m.Rows {
		if r.Resource != resource {
			continue
		}
		all++
		for i, c := range r.Cells {
			switch c.Level {
			case Yes:
				yes[i]++
			case Some:
				some[i]++
			}
		}
	}
	return yes, some, all
}

// Resources returns the resources of the rows without duplicates, in the order of the rows.
func (m *Matrix) Resources() []string {
	var out []string
	for _, r := range m.Rows {
		if !slices.Contains(out, r.Resource) {
			out = append(out, r.Resource)
		}
	}
	return out
}
