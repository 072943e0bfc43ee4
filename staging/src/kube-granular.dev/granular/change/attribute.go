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
	// Present is false if the object does not have the label or annotation.
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
	// Key is the key of the label or annotation.
	Key string
	// Old and New are the values in both objects. They differ. One of them may be absent.
	Old, New Value
	// Unreadable is true if the keys at Path can't be read, for example because the new value at
	// Path is not a map. Key is then empty, and Old and New are absent.
	Unreadable bool
	// Embedded is true for an attribute that the function Embedded or Unknown returned.
	Embedded bool

	// pathID is an unambiguous spelling of Path. pattern is pathID without the keys of map and
	// list elements.
	pathID, pattern string
}

// Scopes returns the scopes that contain the attribute, the outermost first. A scope is the name of
// an embedded object, such as podTemplate. For an attribute of the object itself, Scopes returns
// none.
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

// String returns the location of the attribute, including its key, as messages show it. It never
// shows a value.
func (a *Attribute) String() string { return a.shown(a.Path) }

// Outline is like String, but for a message to a caller that may not see the objects. It shows the
// key of the attribute, but no keys of map and list elements on the path.
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

// appendID appends an unambiguous spelling of the step to b. One path is a prefix of another path
// if and only if its spelling is a prefix of the other spelling.
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

// pattern returns the spelling of the path without the keys of map and list elements.
func (p Path) pattern() string {
	var b []byte
	for _, s := range p {
		s.Keys = nil
		b = s.appendID(b)
	}
	return string(b)
}

// IntersectAttributes returns the labels and annotations that the caller must be authorized for:
// those in both arguments. Observed attributes are those that the caller changed before mutating
// admission. Final attributes differ between the old object and the object that is about to be
// stored. If the observed and the final values of an attribute differ, the result has both.
//
// An observed and a final attribute match if their kind, pattern and key are equal. The keys of map
// and list elements on the path do not matter: otherwise mutating admission could move an attribute
// to another element, or rename its element, and no attribute would match. An Unreadable attribute
// matches every attribute of its kind at and below its path.
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
	// unreadable has the Unreadable attributes, which match every attribute at and below their
	// path.
	unreadable map[attributeKey]bool
	// patterns has, for each kind, the sorted patterns of all attributes.
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

// has reports whether the index has an attribute that matches a, as IntersectAttributes defines it.
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
