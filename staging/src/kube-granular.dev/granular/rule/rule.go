// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package rule

import "slices"

// Field is a field of a kind, or each element of a map or list. The object itself is a Field too.
type Field struct {
	Kind        Kind
	Permissions []Permission      // those of this field, general to specific, named with their scope
	Scope       bool              // another object is embedded here, such as a pod template
	Metadata    bool              // in the object's own metadata: null and empty count as absent
	Default     any               // what the schema sets if the field is absent; nil if nothing
	Fields      map[string]*Field // of an Object; any other field is unknown: a Scalar without permissions
	Elem        *Field            // of a Map, MapList, Set or List
	Key         string            // of a MapList: the field that identifies an element
}

// Permission allows changes of the field that has it, and of all fields inside.
type Permission struct {
	Name      string
	Excluded  bool   // not part of update: every caller needs it
	Element   bool   // for one element of a list, beside permissions for all elements
	Key       int    // if not 0, the parameter is the key of an element around the field, 1 of the innermost
	FromValue bool   // the parameter is the value of the field or, if Inside is set, of that field inside
	Inside    string // with FromValue
	Domain    bool   // the parameter is the part of the key before the slash, or the whole key
}

// Place is where two objects differ: the object, the field inside, and so on to the innermost field
// that contains the difference.
type Place []Step

// Step leads to a field or element.
type Step struct {
	Field    *Field
	Name     string // of the field, or the key of the element
	Key      bool
	Old, New any  // the values of the field in the two objects
	Whole    bool // it differs as a whole: in its presence or shape, or its elements can't be told apart
}

// Difference is the places to which the same fields and keys lead. There are several only if they are in
// elements of a list that can't be told apart, such as those of an atomic list.
type Difference []Place

// Allowed is the rule: a write is allowed if the caller may make every difference between the object that is
// stored and the object that is about to be stored. It holds for the objects as they are stored, and as each
// served version shows them. A create changes all fields. granular is set if the caller lacks the ordinary
// verb, such as update.
func Allowed(granular bool, differences []Difference, holds func(verb string) bool) bool {
	for _, d := range differences {
		if !d.Covered(granular, holds) {
			return false
		}
	}
	return true
}

// Covered reports whether the caller may make a difference: it holds a permission that covers the place. The
// permissions on the way to the place cover it. But if one of them is excluded, an included one covers it
// only if it is inside all excluded ones. If none is excluded, the place is part of update.
func (d Difference) Covered(granular bool, holds func(verb string) bool) bool {
	number, innermost, covered := 0, 0, false
	for _, s := range d[0] {
		for _, permission := range s.Field.Permissions {
			if number++; permission.Excluded {
				innermost = number
			}
		}
	}
	number = 0
	for depth, s := range d[0] {
		for _, permission := range s.Field.Permissions {
			if number++; permission.Excluded || number > innermost {
				lacking := func(p Place) bool { return !p.held(permission, depth, holds) }
				covered = covered || !slices.ContainsFunc(d, lacking)
			}
		}
	}
	return covered || innermost == 0 && !granular
}

// held reports whether the caller holds a permission of the step at depth: its verb, its verb with the
// key, or its verbs with the old and with the new value, as far as the field has them.
func (p Place) held(permission Permission, depth int, holds func(verb string) bool) bool {
	verb := "granular:" + permission.Name
	switch {
	case permission.FromValue:
		values, known := p[depth].values(permission.Inside)
		return known && len(values) > 0 && !slices.ContainsFunc(values, func(text string) bool { return !holds(verb + "(" + text + ")") })
	case permission.Key > 0 && permission.Domain:
		domain, whole := apart(p[:depth+1].key(permission.Key))
		return holds(verb+"("+domain+")") || !permission.Excluded && holds(verb+"("+whole+")")
	case permission.Key > 0:
		return holds(verb + "(" + p[:depth+1].key(permission.Key) + ")")
	}
	return holds(verb)
}
