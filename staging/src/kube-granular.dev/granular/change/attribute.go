// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"kube-granular.dev/granular/schema"
)

// Value is the value of a label or annotation before or after a write.
type Value struct {
	// Text is the value. It is empty if the value is absent or Unreadable.
	Text string
	// Present is set if the key exists, possibly with an empty value.
	Present bool
	// Unreadable is true if the value is present and not a string.
	Unreadable bool
}

// Attribute is a label or an annotation that differs between two objects.
type Attribute struct {
	// Kind is Label or Annotation.
	Kind schema.Attribute
	// Path is the location of the map that has the key, such as .metadata.labels.
	Path Path
	Key  string
	// Old and New are the values before and after the write. They differ unless the attribute is
	// Unreadable, and one of them may be absent.
	Old, New Value
	// Unreadable is set if the new value at Path is not a map, so that its keys are not known. Key
	// is then empty, and Old and New are absent.
	Unreadable bool
	// Embedded is set for an attribute that the function Embedded or Unknown returned. It is in a
	// value that no schema describes.
	Embedded bool

	// pathID is an unambiguous spelling of Path. pattern is pathID without the keys of elements.
	pathID, pattern string
}

// Scopes returns the names of the scopes that contain the attribute, the outermost first. A scope
// is a part of the object that embeds another object's metadata or spec, such as a pod template.
// The result is empty for an attribute of the object itself.
func (a *Attribute) Scopes() []string {
	var out []string
	for _, s := range a.Path {
		if s.Node != nil {
			if scope := s.Node.Scope(); scope != "" {
				out = append(out, scope)
			}
		}
	}
	return out
}

// String returns the location of the attribute, including its key, as messages show it. The
// location has keys but no values.
func (a *Attribute) String() string { return a.shown(a.Path) }

// Outline returns what String returns, but without the keys of the maps and list elements on the
// path to the attribute. It is for a caller who may not see the objects.
func (a *Attribute) Outline() string {
	path := slices.Clone(a.Path)
	for i := range path {
		path[i].Keys = nil
	}
	return a.shown(path)
}

// shown returns path with the key of the attribute appended.
func (a *Attribute) shown(path Path) string {
	if a.Unreadable {
		return path.String()
	}
	return Shorten(path.String()+"["+unquotedIfPlain(a.Key)+"]", MaxPathLength)
}

// Attributes are the labels and annotations that one write changes, sorted by path and key, without
// duplicates.
type Attributes []Attribute

// compareAttributes defines the order of Attributes.
func compareAttributes(a, b Attribute) int {
	return cmp.Or(
		strings.Compare(a.pathID, b.pathID), cmp.Compare(a.Kind, b.Kind), strings.Compare(a.Key, b.Key),
		compareValues(a.Old, b.Old), compareValues(a.New, b.New),
		compareFlags(a.Unreadable, b.Unreadable), compareFlags(a.Embedded, b.Embedded))
}

func compareValues(a, b Value) int {
	return cmp.Or(compareFlags(a.Present, b.Present), compareFlags(a.Unreadable, b.Unreadable), strings.Compare(a.Text, b.Text))
}

func compareFlags(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// normalize returns the attributes sorted and without duplicates.
func (s Attributes) normalize() Attributes {
	for i := range s {
		s[i].setPathIDs()
	}
	slices.SortFunc(s, compareAttributes)
	return slices.CompactFunc(s, func(a, b Attribute) bool { return compareAttributes(a, b) == 0 })
}

// setPathIDs sets pathID and pattern, if they are not set yet.
func (a *Attribute) setPathIDs() {
	if a.pattern == "" {
		a.pathID, a.pattern = a.Path.id(), a.Path.pattern()
	}
}

// appendID appends an unambiguous spelling of the step to b. So one path is a prefix of another
// exactly if its spelling is a prefix of the other's spelling.
func (s Step) appendID(b []byte) []byte {
	if s.Field != "" {
		return strconv.AppendQuote(append(b, '.'), s.Field)
	}
	b = append(b, '[')
	for _, k := range s.Keys {
		b = strconv.AppendQuote(b, k)
	}
	return append(b, ']')
}

// id returns an unambiguous spelling of the path.
func (p Path) id() string {
	var b []byte
	for _, s := range p {
		b = s.appendID(b)
	}
	return string(b)
}

// pattern returns the spelling of the path without the keys of elements.
func (p Path) pattern() string {
	var b []byte
	for _, s := range p {
		s.Keys = nil
		b = s.appendID(b)
	}
	return string(b)
}

// IntersectAttributes returns the attributes that the caller must be authorized for: those that
// the caller changed, as observed before mutating admission, and that are also about to change in
// storage. For each of them the result has the final change, and the observed change too if it
// differs.
//
// Two changes are of the same attribute if their kind, pattern and key are equal. The keys of the
// list and map elements on the path are ignored. Otherwise the result would lack an attribute that
// admission moved to another element, or whose element it renamed. An Unreadable attribute stands
// for every key at and below its location.
func IntersectAttributes(observed, final Attributes) Attributes {
	if len(observed) == 0 || len(final) == 0 {
		return nil
	}
	before, after := newAttributeIndex(observed), newAttributeIndex(final)
	var out Attributes
	for i := range final {
		if before.has(&final[i]) {
			out = append(out, final[i])
		}
	}
	for i := range observed {
		if after.has(&observed[i]) {
			out = append(out, observed[i])
		}
	}
	return out.normalize()
}

// attributeIndex finds attributes by kind, pattern and key.
type attributeIndex struct {
	// keys has the attributes that are not Unreadable.
	keys map[attributeKey]bool
	// unreadable has the locations of the Unreadable attributes. Each stands for all keys at and
	// below it.
	unreadable map[attributeKey]bool
	// patterns has the sorted patterns of all attributes of a kind.
	patterns map[schema.Attribute][]string
}

type attributeKey struct {
	kind         schema.Attribute
	pattern, key string
}

func newAttributeIndex(s Attributes) *attributeIndex {
	x := &attributeIndex{keys: map[attributeKey]bool{}, unreadable: map[attributeKey]bool{}, patterns: map[schema.Attribute][]string{}}
	for i := range s {
		a := &s[i]
		if a.Unreadable {
			x.unreadable[attributeKey{kind: a.Kind, pattern: a.pattern}] = true
		} else {
			x.keys[attributeKey{a.Kind, a.pattern, a.Key}] = true
		}
		x.patterns[a.Kind] = append(x.patterns[a.Kind], a.pattern)
	}
	for _, patterns := range x.patterns {
		slices.Sort(patterns)
	}
	return x
}

// has reports whether the index has the attribute, or one that may be the same because one of the
// two is Unreadable.
func (x *attributeIndex) has(a *Attribute) bool {
	if a.Unreadable {
		patterns := x.patterns[a.Kind]
		if i, _ := slices.BinarySearch(patterns, a.pattern); i < len(patterns) && strings.HasPrefix(patterns[i], a.pattern) {
			return true
		}
	} else if x.keys[attributeKey{a.Kind, a.pattern, a.Key}] {
		return true
	}
	if len(x.unreadable) == 0 {
		return false
	}
	var b []byte
	for _, s := range a.Path {
		s.Keys = nil
		if b = s.appendID(b); x.unreadable[attributeKey{kind: a.Kind, pattern: string(b)}] {
			return true
		}
	}
	return x.unreadable[attributeKey{kind: a.Kind}]
}
