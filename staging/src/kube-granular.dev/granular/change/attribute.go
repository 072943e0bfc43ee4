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

// Value is what an attribute holds before or after a write.
type Value struct {
	// Text is the value, empty if there is none.
	Text string
	// Present tells an empty value from none.
	Present bool
	// Unreadable says that what is present is not a string.
	Unreadable bool
}

// Attribute is a label or an annotation that differs between two objects.
type Attribute struct {
	// Kind is Label or Annotation.
	Kind schema.Attribute
	// Path is where the map lies that has the key.
	Path Path
	Key  string
	// Old and New differ. One of them may be absent.
	Old, New Value
	// Unreadable says that what is new at Path is no map, so that it can't be told which
	// keys it stands for. Key is empty and both values are absent.
	Unreadable bool
	// Embedded says that the attribute was found by Embedded.
	Embedded bool

	// id is the spelling of Path, place that without the identity of elements.
	pathID, pattern string
}

// Scopes returns the scopes that the attribute lies in, the outermost first. An attribute
// of the object itself lies in none.
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

// String returns the place of the attribute, its key included, as a message shows it. It
// shows keys and no value.
func (a *Attribute) String() string { return a.shown(a.Path) }

// Outline is String for whoever may not see the objects: of elements of maps and lists on
// the way to the attribute it shows no identity.
func (a *Attribute) Outline() string {
	path := slices.Clone(a.Path)
	for i := range path {
		path[i].Keys = nil
	}
	return a.shown(path)
}

func (a *Attribute) shown(path Path) string {
	if a.Unreadable {
		return path.String()
	}
	return Shorten(path.String()+"["+unquotedIfPlain(a.Key)+"]", MaxPathLength)
}

// Attributes are the labels and annotations that one write changes, sorted by place and
// key, each at most once with the same values.
type Attributes []Attribute

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

// normal sorts and drops what is there twice.
func (s Attributes) normalize() Attributes {
	for i := range s {
		s[i].setPathIDs()
	}
	slices.SortFunc(s, compareAttributes)
	return slices.CompactFunc(s, func(a, b Attribute) bool { return compareAttributes(a, b) == 0 })
}

// spell notes the spellings of the path.
func (a *Attribute) setPathIDs() {
	if a.pattern == "" {
		a.pathID, a.pattern = a.Path.id(), a.Path.pattern()
	}
}

// appendID makes a spelling of the step that no other step has and that ends
// where it ends, so a path leads through another exactly if it begins with its ID.
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

func (p Path) id() string {
	var b []byte
	for _, s := range p {
		b = s.appendID(b)
	}
	return string(b)
}

// place spells the path without the identity of elements.
func (p Path) pattern() string {
	var b []byte
	for _, s := range p {
		s.Keys = nil
		b = s.appendID(b)
	}
	return string(b)
}

// IntersectAttributes returns what the caller has to answer for: of attributes that changed
// in the caller's own change, as observed before mutating admission, and that are about to
// change, both the final change and, where it differs, the caller's own.
//
// Two changes are of one attribute if kind, place and key are the same. Which element of a
// list or a map it lies in does not matter: what admission moved or renamed would
// be lost. What can't be read stands for every key at its place and below.
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

// attributeIndex finds attributes by kind, place and key.
type attributeIndex struct {
	keys map[attributeKey]bool
	// unreadable has the places that stand for all below them.
	unreadable map[attributeKey]bool
	// places is sorted, one slice for each kind.
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

// meets reports whether the index has the attribute, or what may be it.
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
