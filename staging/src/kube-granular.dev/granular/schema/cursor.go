// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

// Cursor looks at a schema, permissions aside, on the way down an object. It serves
// messages, which are slow, and the compiler. The zero Cursor knows nothing.
type Cursor struct {
	definitions definitions
	layers      layers
}

// Schema is the cursor at the root of the tree's kind. The definitions may have to be
// made for it, which takes milliseconds; see WithSource. Where they can't be had, the
// cursor knows nothing.
func (t *Tree) Schema() Cursor { return t.schemas().root(t.Name) }

// root is the cursor at the root of a definition.
func (d definitions) root(name string) Cursor {
	if d[name] == nil {
		return Cursor{}
	}
	return Cursor{definitions: d}.at(layers{d[name]})
}

// Known says that the cursor is at a place of which something is known.
func (c Cursor) Known() bool { return len(c.layers) > 0 }

func (c Cursor) at(in layers) Cursor {
	e := expansion{definitions: c.definitions, follow: func(name string) (bool, error) {
		return c.definitions[name] != nil, nil
	}}
	if err := e.all(in); err != nil || len(in) == 0 {
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
func (c Cursor) List() (NodeKind, []Key) {
	listType, _ := c.layers.text(extListType)
	switch listType {
	case "map":
		names, err := c.layers.listMapKeys()
		if err != nil {
			return List, nil
		}
		item, keys := c.Elem(), make([]Key, len(names))
		for i, name := range names {
			keys[i].Name = name
			keys[i].Default, _ = item.Field(name).layers.fallback()
		}
		return ListMap, keys
	case "set":
		if c.Elem().layers.scalar() {
			return Set, nil
		}
	}
	return List, nil
}

// OnlyDefaults says whether a decoded JSON value is what the schema puts there on its
// own; see Default.Is.
func (c Cursor) OnlyDefaults(value any, omitempty bool) bool {
	return c.Default().Is(value, omitempty)
}
