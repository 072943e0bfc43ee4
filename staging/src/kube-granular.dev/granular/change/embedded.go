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

// Embedded returns the labels and annotations that differ between two values that no schema
// describes. The values hold objects or patches of objects. Embedded reads the labels and
// annotations in every field named metadata, at any depth. old and new are decoded JSON, nil if
// absent. at is their location.
//
// Elements of lists are matched by position. The names metadata, labels and annotations match in
// upper and lower case, because consumers read such values with Go's encoding/json, which ignores
// case too.
func Embedded(kinds schema.Attribute, at Path, old, new any) Attributes {
	if equal.JSON(old, new) {
		return nil
	}
	k := embeddedWalk{kinds: kinds, found: map[embeddedKey]*Attribute{}}
	k.visit(slices.Clip(at), old)
	k.new = true
	k.visit(slices.Clip(at), new)
	for _, a := range k.found {
		if a.Old != a.New {
			k.out = append(k.out, *a)
		}
	}
	return k.out.normalize()
}

// Unknown returns one Unreadable attribute of each of the given kinds, for a location that can't
// be read. The attribute stands for every label or annotation that might be at the location.
func Unknown(kinds schema.Attribute, at Path) Attributes {
	var out Attributes
	for _, kind := range [...]schema.Attribute{schema.Label, schema.Annotation} {
		if kinds&kind != 0 {
			out = append(out, Attribute{Kind: kind, Path: at, Unreadable: true, Embedded: true})
		}
	}
	return out.normalize()
}

type embeddedKey struct {
	kind         schema.Attribute
	pattern, key string
}

type embeddedWalk struct {
	kinds schema.Attribute
	// new is true while the walk is in the new value, and false in the old value.
	new   bool
	found map[embeddedKey]*Attribute
	// out has only the Unreadable attributes until both values are visited.
	out Attributes
}

func (w *embeddedWalk) visit(at Path, value any) {
	switch value := value.(type) {
	case map[string]any:
		for name, v := range value {
			below := append(at, Step{Field: name})
			if strings.EqualFold(name, "metadata") {
				w.metadata(below, v)
			}
			w.visit(slices.Clip(below), v)
		}
	case []any:
		for i, v := range value {
			w.visit(slices.Clip(append(at, Step{Keys: []string{strconv.Itoa(i)}})), v)
		}
	}
}

func (w *embeddedWalk) metadata(at Path, value any) {
	fields, _ := value.(map[string]any)
	for name, v := range fields {
		kind := schema.Attribute(0)
		switch {
		case strings.EqualFold(name, "labels"):
			kind = schema.Label
		case strings.EqualFold(name, "annotations"):
			kind = schema.Annotation
		}
		if kind&w.kinds == 0 || v == nil {
			continue
		}
		path := slices.Clip(append(slices.Clip(at), Step{Field: name}))
		keys, ok := v.(map[string]any)
		if !ok && w.new {
			w.out = append(w.out, Attribute{Kind: kind, Path: path, Unreadable: true, Embedded: true})
		}
		for key, v := range keys {
			text, ok := v.(string)
			w.set(kind, path, key, Value{Text: text, Present: true, Unreadable: !ok})
		}
	}
}

func (w *embeddedWalk) set(kind schema.Attribute, path Path, key string, value Value) {
	id := embeddedKey{kind, path.id(), key}
	if w.found[id] == nil {
		w.found[id] = &Attribute{Kind: kind, Path: path, Key: key, Embedded: true}
	}
	if w.new {
		w.found[id].New = value
	} else {
		w.found[id].Old = value
	}
}
