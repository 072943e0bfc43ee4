// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import "reflect"

// Cursor looks at a schema, permissions aside, on the way down an object. It
// serves messages and defaults: slow paths. The zero Cursor knows nothing.
type Cursor struct {
	definitions definitions
	layers      layers
}

// Schema is the cursor at the root of the tree's kind.
func (t *Tree) Schema() Cursor {
	if t.definitions == nil {
		return Cursor{}
	}
	return Cursor{definitions: t.definitions}.at(layers{t.definitions[t.Name]})
}

func (c Cursor) at(in layers) Cursor {
	e, err := c.definitions.expand(in, nil, func(name string) (bool, error) {
		return c.definitions[name] != nil, nil
	})
	if err != nil || len(in) == 0 {
		return Cursor{}
	}
	return Cursor{definitions: c.definitions, layers: e.out}
}

// Has says whether the schema names a field.
func (c Cursor) Has(name string) bool { return len(c.layers.property(name)) > 0 }

// Field steps to a named field.
func (c Cursor) Field(name string) Cursor {
	if c.definitions == nil {
		return c
	}
	if l := c.layers.property(name); len(l) > 0 {
		return c.at(l)
	}
	return c.at(c.layers.additional())
}

// Elem steps to what a list holds.
func (c Cursor) Elem() Cursor {
	if c.definitions == nil {
		return c
	}
	return c.at(c.layers.items())
}

// IsKey says whether a name below is the key of a map rather than a field.
func (c Cursor) IsKey(name string) bool {
	return len(c.layers.property(name)) == 0 && len(c.layers.additional()) > 0
}

// List says how the elements of a list are told apart. List means by position.
func (c Cursor) List() (Kind, []Key) {
	listType, err := c.layers.text(extListType)
	if err != nil || c.definitions == nil {
		return List, nil
	}
	item := c.Elem()
	switch listType {
	case "map":
		names, err := c.layers.listMapKeys()
		if err != nil {
			return List, nil
		}
		keys := make([]Key, len(names))
		for i, name := range names {
			keys[i].Name = name
			keys[i].Default, _ = item.Field(name).layers.fallback()
		}
		return ListMap, keys
	case "set":
		if item.layers.scalar() {
			return Set, nil
		}
	}
	return List, nil
}

// OnlyDefaults says whether a decoded JSON value is what the schema puts there
// on its own: the default, or an object of nothing but defaults. omitempty says that
// the value was encoded from a Go type, which leaves out what is zero.
func (c Cursor) OnlyDefaults(value any, omitempty bool) bool {
	fallback, ok := c.layers.fallback()
	if !ok {
		return false
	}
	return c.defaults(fallback, value, omitempty)
}

func (c Cursor) defaults(fallback, value any, omitempty bool) bool {
	switch value := value.(type) {
	case map[string]any:
		base, ok := fallback.(map[string]any)
		return ok && c.defaultsOf(base, value, omitempty)
	case []any:
		base, ok := fallback.([]any)
		if !ok || len(base) != len(value) {
			return false
		}
		item := c.Elem()
		for i := range value {
			if !item.defaults(base[i], value[i], omitempty) {
				return false
			}
		}
		return true
	}
	return plainEqual(fallback, value)
}

func (c Cursor) defaultsOf(base, object map[string]any, omitempty bool) bool {
	for name, v := range object {
		field := c.Field(name)
		if d, ok := base[name]; ok {
			if !field.defaults(d, v, omitempty) {
				return false
			}
		} else if !c.Has(name) || !field.OnlyDefaults(v, omitempty) {
			return false // the values of a map have a default, its keys have none
		}
	}
	for name, d := range base {
		if _, ok := object[name]; !ok && !(omitempty && zero(d)) {
			return false
		}
	}
	return true
}

// plainEqual compares JSON values; a number is the same in any of Go's types.
func plainEqual(a, b any) bool {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	if !x.IsValid() || !y.IsValid() || x.Kind() == y.Kind() {
		return reflect.DeepEqual(a, b)
	}
	if x.CanFloat() {
		x, y = y, x
	}
	// An integer beyond 2^53 may have lost digits as a float: take it as different.
	const exact = 1 << 53
	return x.CanInt() && y.CanFloat() && -exact < x.Int() && x.Int() < exact && float64(x.Int()) == y.Float() ||
		x.CanInt() && y.CanInt() && x.Int() == y.Int()
}

// zero says that a default is what Go's omitempty leaves out.
func zero(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	case nil:
		return true
	}
	return reflect.ValueOf(v).IsZero()
}
