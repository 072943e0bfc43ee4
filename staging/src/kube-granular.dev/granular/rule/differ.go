// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"slices"
	"strconv"
)

// Differences returns what differs between two objects of a kind. stored is Absent for a create.
func Differences(kind *Field, stored, sent any) (out []Difference) {
	number := map[string]int{}
	for _, p := range differences(Place{{Field: kind, Old: stored, New: sent}}, false) {
		name := p.String()
		if _, ok := number[name]; !ok {
			number[name] = len(out)
			out = append(out, nil)
		}
		out[number[name]] = append(out[number[name]], p)
	}
	return out
}

// String returns the names and keys on the way to the innermost field that has a permission. If none has, it
// returns the name of the field of the object itself.
func (p Place) String() string {
	var name []byte
	length := 0
	for depth, s := range p {
		if name = strconv.AppendQuote(name, s.Name); len(s.Field.Permissions) > 0 || depth == 1 {
			length = len(name)
		}
	}
	return string(name[:length])
}

// differences returns the places at and inside p that differ. untouched is set inside an object of a create
// that has just its default: fields with an excluded permission then count as if they had theirs.
func differences(p Place, untouched bool) (out []Place) {
	s := &p[len(p)-1]
	if s.Field.Metadata && p.inObject() {
		s.Old, s.New = blank(s.Old), blank(s.New)
	}
	f, old, new := s.Field, s.Old, s.New
	if equal(old, new) {
		return nil
	}
	byDefault := p.byDefault()
	if n := len(f.Permissions); n > 0 && f.Permissions[n-1].Excluded && (byDefault || untouched) {
		return p.around() // for the excluded permission, an absent field has its default
	}
	untouched = untouched || byDefault && f.Kind == Object && state(p[0].Old) == 0
	fits, inside := f.Kind.fits(old) && f.Kind.fits(new), p.inside(untouched)
	element := len(f.Permissions) > 0 && f.Permissions[0].Element
	switch {
	case f.Kind != Scalar && (!fits || s.ambiguous() || state(old) != state(new) && inside == nil):
		whole := slices.Clone(p)
		whole[len(p)-1].Whole = true
		inside = append(inside, whole)
	case f.Kind == Scalar, state(old) != state(new) && element, p.reordered(), s.resized():
		inside = append(inside, p)
	}
	return inside
}

// inside returns the places in the fields or elements of a place.
func (p Place) inside(untouched bool) (out []Place) {
	s := p[len(p)-1]
	f := s.Field
	to := func(field *Field, name string, key bool, old, new any) {
		out = append(out, differences(append(slices.Clip(p), Step{Field: field, Name: name, Key: key, Old: old, New: new}), untouched)...)
	}
	switch f.Kind {
	case Object:
		for _, name := range names(s.Old, s.New) {
			field, known := f.Fields[name]
			if !known {
				field = &Field{Kind: Scalar, Metadata: f.Metadata}
			}
			to(field, name, false, get(s.Old, name), get(s.New, name))
		}
	case Map:
		for _, name := range names(s.Old, s.New) {
			to(f.Elem, name, true, get(s.Old, name), get(s.New, name))
		}
	case MapList, Set, List:
		s.pairs(func(id string, old, new any) { to(f.Elem, id, f.Kind != List, old, new) })
	}
	return out
}

// inObject reports whether the place is a field of an object, and not an element of a map or list.
func (p Place) inObject() bool { return len(p) > 1 && p[len(p)-2].Field.Kind == Object }

// byDefault reports whether a field of an object was absent or is absent now, and has its default otherwise.
func (p Place) byDefault() bool {
	s := p[len(p)-1]
	if !p.inObject() || s.Field.Default == nil {
		return false
	}
	return state(s.Old) == 0 && equal(s.New, s.Field.Default) || state(s.New) == 0 && equal(s.Old, s.Field.Default)
}

// around returns the object around a field, unless no permission covers it: the server sets the default.
func (p Place) around() []Place {
	above := p[:len(p)-1]
	if !slices.ContainsFunc(above, func(s Step) bool { return len(s.Field.Permissions) > 0 }) {
		return nil
	}
	return []Place{above}
}

// resized reports whether an atomic list has another length. It does not count if elements have a
// permission that takes a value, because those that were added or removed are then known.
func (s Step) resized() bool {
	return s.Field.Kind == List && s.Field.Elem.valued() == nil && len(list(s.Old)) != len(list(s.New))
}
