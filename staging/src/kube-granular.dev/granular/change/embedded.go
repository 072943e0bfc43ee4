// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"slices"
	"strconv"
	"strings"

	"kube-granular.dev/granular/equal"
	"kube-granular.dev/granular/schema"
)

// Bounds of what Embedded returns. The values that it reads have no schema, so only the size of
// the request limits how deep they are and how many labels and annotations they have.
const (
	// MaxEmbedded is the highest number of labels and annotations.
	MaxEmbedded = 1000
	// MaxEmbeddedDepth is the highest number of steps from the value to the map that has a label
	// or annotation.
	MaxEmbeddedDepth = 128
	// maxEmbeddedNames is the highest number of bytes in the names of the fields on that way.
	maxEmbeddedNames = 4096
)

// Embedded returns the labels and annotations that differ between two values that no schema
// describes. The values hold objects or patches of objects. Embedded reads the labels and
// annotations in every field named metadata, at any depth. old and new are decoded JSON, nil if
// absent. path is their location. kinds and keys limit the result, as for Walker.Attributes.
//
// Elements of lists are matched by position. The names metadata, labels and annotations match in
// upper and lower case, because consumers read such values with Go's encoding/json, which ignores
// case too.
//
// If the result would exceed the bounds, Embedded returns an attribute that is TooLarge for each
// kind that is among the labels and annotations. It stands for all of them. The work grows with the
// size of the two values, not with their size times their depth.
func Embedded(kinds schema.Attribute, keys Keys, path Path, old, new any) Attributes {
	if equal.JSON(old, new) {
		return nil
	}
	w := embeddedWalk{kinds: kinds, keys: keys, at: path}
	w.visit(old, new)
	if !w.tooLarge {
		return w.out.normalize()
	}
	out := Unknown(w.found, path)
	for i := range out {
		out[i].TooLarge = true
	}
	return out
}

// Unknown returns one Unreadable attribute of each of the given kinds, for a location that can't
// be read. The attribute stands for every label or annotation that might be at the location.
func Unknown(kinds schema.Attribute, path Path) Attributes {
	var out Attributes
	for _, kind := range [...]schema.Attribute{schema.Label, schema.Annotation} {
		if kinds&kind != 0 {
			out = append(out, Attribute{Kind: kind, Path: path, Unreadable: true, Embedded: true})
		}
	}
	return out.normalize()
}

type embeddedWalk struct {
	kinds schema.Attribute
	keys  Keys
	at    Path
	// steps leads from at to the current location. It becomes a Path only for an attribute of the
	// result, since most locations have none.
	steps []embeddedStep
	// names is the number of bytes in the names of the steps.
	names int
	out   Attributes
	// found are the kinds of the attributes that were found, also of those that out lacks because
	// of the bounds. tooLarge is set if there are such attributes.
	found    schema.Attribute
	tooLarge bool
}

// embeddedStep leads to a field, or to an element of a list if the field is empty.
type embeddedStep struct {
	field   string
	element int
	list    bool
}

func (w *embeddedWalk) push(s embeddedStep) {
	w.steps = append(w.steps, s)
	w.names += len(s.field)
}

func (w *embeddedWalk) pop() {
	last := len(w.steps) - 1
	w.names -= len(w.steps[last].field)
	w.steps = w.steps[:last]
}

// path returns the current location.
func (w *embeddedWalk) path() Path {
	out := slices.Grow(slices.Clone(w.at), len(w.steps))
	for _, s := range w.steps {
		if s.list {
			out = append(out, Step{Keys: []string{strconv.Itoa(s.element)}})
		} else {
			out = append(out, Step{Field: s.field})
		}
	}
	return out
}

// visit finds differing labels and annotations in two values at the current location.
func (w *embeddedWalk) visit(old, new any) {
	eachField(old, new, func(name string, before, after any) {
		w.push(embeddedStep{field: name})
		if strings.EqualFold(name, "metadata") {
			w.metadata(before, after)
		}
		w.visit(before, after)
		w.pop()
	})
	before, _ := old.([]any)
	after, _ := new.([]any)
	for i := range max(len(before), len(after)) {
		w.push(embeddedStep{element: i, list: true})
		w.visit(elementAt(before, i), elementAt(after, i))
		w.pop()
	}
}

// eachField calls a function with each field that one of two values has, if they are maps.
func eachField(old, new any, visit func(name string, old, new any)) {
	before, _ := old.(map[string]any)
	after, _ := new.(map[string]any)
	for name, v := range after {
		visit(name, before[name], v)
	}
	for name, v := range before {
		if _, kept := after[name]; !kept {
			visit(name, v, nil)
		}
	}
}

func elementAt(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return nil
}

// metadata finds differing labels and annotations in two values of a field named metadata.
func (w *embeddedWalk) metadata(old, new any) {
	eachField(old, new, func(name string, before, after any) {
		kind := schema.Attribute(0)
		switch {
		case strings.EqualFold(name, "labels"):
			kind = schema.Label
		case strings.EqualFold(name, "annotations"):
			kind = schema.Annotation
		}
		if kind&w.kinds != 0 {
			w.push(embeddedStep{field: name})
			w.pairs(kind, before, after)
			w.pop()
		}
	})
}

// pairs finds the keys that differ between two maps of labels or annotations.
func (w *embeddedWalk) pairs(kind schema.Attribute, old, new any) {
	same := Attribute{Kind: kind, Embedded: true} // what all keys of the map have in common
	if _, ok := new.(map[string]any); !ok && new != nil {
		unreadable := same
		unreadable.Unreadable = true
		w.add(&unreadable)
	}
	before, _ := old.(map[string]any)
	after, _ := new.(map[string]any)
	add := func(key string) {
		a, b := embeddedValue(before, key), embeddedValue(after, key)
		if a == b && (!a.Unreadable || equalScalars(before[key], after[key])) || w.keys != nil && !w.keys.Wanted(kind, key) {
			return
		}
		same.Key, same.Old, same.New = key, a, b
		w.add(&same)
	}
	for key := range after {
		add(key)
	}
	for key := range before {
		if _, kept := after[key]; !kept {
			add(key)
		}
	}
}

// equalScalars reports whether two values are equal. Maps and lists count as different: to compare
// them at every level of a deep value would be more work than the size of the value.
func equalScalars(a, b any) bool {
	switch a.(type) {
	case map[string]any, []any:
		return false
	}
	return equal.JSON(a, b)
}

func embeddedValue(pairs map[string]any, key string) Value {
	v, ok := pairs[key]
	if !ok {
		return Value{}
	}
	text, ok := v.(string)
	return Value{Text: text, Present: true, Unreadable: !ok}
}

// add adds a copy of an attribute at the current location. It sets its path, unless it is set.
func (w *embeddedWalk) add(a *Attribute) {
	w.found |= a.Kind
	if len(w.out) >= MaxEmbedded || len(w.steps) > MaxEmbeddedDepth || w.names > maxEmbeddedNames {
		w.tooLarge = true
	}
	if w.tooLarge {
		return
	}
	if a.Path == nil {
		a.Path = w.path()
		a.setPathIDs()
	}
	w.out = append(w.out, *a)
}
