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
	// Old and New are the values before and after the write. One of them is absent if the key was
	// added or removed. Both are absent if the attribute is Unreadable. Two different values that
	// are not strings look equal here, because their Text is empty.
	Old, New Value
	// Unreadable is set if the new value at Path is not a map, so that the keys are not known. Key,
	// Old and New are then zero.
	Unreadable bool
	// TooLarge is set beside Unreadable if the value could be read, but has labels or annotations
	// beyond the bounds of the function Embedded. Such an attribute stands for all of them, before
	// and after the write.
	TooLarge bool
	// Embedded is set if the function Embedded or Unknown returned the attribute: the attribute is
	// inside a value that no schema describes.
	Embedded bool

	// pathID is Path as a string, such that different paths have different strings. pattern is the
	// same without the keys of map and list elements.
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

// String returns the location of the attribute, including its key, as messages show it. The result
// contains keys of maps and list elements, but no other values.
func (a *Attribute) String() string { return a.shown(a.Path) }

// Outline returns what String returns, but without the keys of the map and list elements on the
// path to the attribute. The attribute's own key stays. Outline is for messages to a caller who is
// not allowed to see the objects.
func (a *Attribute) Outline() string {
	path := slices.Clone(a.Path)
	for i := range path {
		path[i].Keys = nil
	}
	return a.shown(path)
}

// shown returns path as text, followed by the key of the attribute if the key is known.
func (a *Attribute) shown(path Path) string {
	if a.Unreadable {
		return cmp.Or(path.String(), ".") // for the whole object
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
		compareFlags(a.Unreadable, b.Unreadable), compareFlags(a.TooLarge, b.TooLarge), compareFlags(a.Embedded, b.Embedded))
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

// appendID appends the step as text to b. The text of one step is never a prefix of the text of a
// different step. So one path is a prefix of another path exactly if the same is true of their
// texts.
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
// the caller changed and that are also about to change in storage. observed are the changes of the
// caller, before mutating admission. final are the changes about to be stored. For each attribute
// the result has the final change, and also the observed change if the two differ.
//
// Two changes are of the same attribute if they have the same kind, key and path, where the keys
// of list and map elements on the path are ignored. If these keys were compared, the result would
// lack an attribute that admission moved to another element, or whose element admission renamed.
// An Unreadable attribute stands for every key at and below its location.
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

// attributeIndex finds attributes by their kind, their key, and their path without the keys of
// elements.
type attributeIndex struct {
	// keys contains the attributes that are not Unreadable.
	keys map[attributeKey]bool
	// unreadable contains the locations of the Unreadable attributes. Each location stands for all
	// keys at and below it.
	unreadable map[attributeKey]bool
	// patterns lists the paths of all attributes of a kind, without keys of elements, sorted.
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

// has reports whether the index contains a, or an attribute that might be the same as a, because
// one of the two is Unreadable and so stands for unknown keys.
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
