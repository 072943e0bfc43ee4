// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"kube-granular.dev/granular/schema"
)

// resolution is the result of following a path through a schema.
type resolution struct {
	// reached is the number of steps that the schema has.
	reached int
	// reason says why the other steps can't be followed. It is empty if reached is the length of
	// the path.
	reason string
	// atomic is the number of steps to the first list on the way whose elements have no identity,
	// and -1 if there is none.
	atomic int
	// maps has an element for each step: whether it leads to the values of a map.
	maps []bool
	// excludedAbove and excludedAt tell whether the author of the schema excludes a field around
	// the one that was reached, or that field itself.
	excludedAbove, excludedAt bool
	// open is set if the way leads through an object that keeps fields which its schema does not
	// name, and the schema has no more of the path.
	open bool
	// origin is the number of steps to the innermost definition on the way, and definition is its
	// name, "" if the way leads through no definition.
	origin     int
	definition string
}

// resolve follows a path from the root of a schema.
func resolve(root schema.Cursor, path Path) resolution {
	r, c := resolution{atomic: -1}, root
	for i, step := range path {
		next, isMap, reason := r.follow(c, path, i, step)
		if reason != "" {
			r.reason = reason
			return r
		}
		r.excludedAbove = r.excludedAbove || r.excludedAt
		r.maps = append(r.maps, isMap)
		if r.open {
			r.excludedAt = false
		} else if c = next; c.Known() {
			r.excludedAt = c.Excludes()
		}
		if name := c.Definition(); !r.open && name != "" {
			r.definition, r.origin = name, i+1
		}
		r.reached++
	}
	return r
}

// follow returns the cursor after one step from c.
func (r *resolution) follow(c schema.Cursor, path Path, i int, step Step) (next schema.Cursor, isMap bool, reason string) {
	switch {
	case r.open && step.Every:
		return c, false, FieldRetyped // the elements of a list that the schema does not know
	case r.open, i == 1 && path[0].Name == "metadata":
		return c, false, "" // Check allows two fields of metadata, which every kind has
	case step.Every:
		return r.every(c, i)
	case c.Has(step.Name):
		return c.Field(step.Name), false, ""
	case c.Open() && c.MayBeObject():
		r.open = true
		return c, false, ""
	case c.MayBeObject():
		return c, false, FieldAbsent
	}
	return c, false, FieldRetyped
}

// every returns the cursor of the elements of a list or the values of a map.
func (r *resolution) every(c schema.Cursor, i int) (next schema.Cursor, isMap bool, reason string) {
	if elem := c.Elem(); elem.Known() {
		if kind, _ := c.List(); kind == schema.List && r.atomic < 0 {
			r.atomic = i
		}
		return elem, false, ""
	}
	if values := c.Values(); values.Known() {
		return values, true, ""
	}
	return c, false, FieldRetyped
}

// whole reports whether a path is too large a part of an object to be excluded in place of a field
// inside: the root, the specification or the status.
func whole(path Path) bool {
	return len(path) == 0 || len(path) == 1 && (path[0].Name == "spec" || path[0].Name == "status" || path[0].Name == "metadata")
}
