// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import "slices"

// Cursor is a position in a schema. Its methods return the cursors of fields and elements below. A
// Cursor does not read permissions. Messages use it to print the paths of fields, and the compiler
// uses it to read defaults. Cursors are too slow for comparing objects. The zero Cursor is at no
// schema.
type Cursor struct {
	definitions definitions
	layers      layers
}

// Schema returns the cursor at the root of the schema of the tree's kind. Schema may have to
// generate the definitions, which takes milliseconds; see WithSource. If the definitions are not
// available, it returns the zero Cursor.
func (t *Tree) Schema() Cursor { return t.schemas().root(t.Name) }

// root returns the cursor at the root of a definition.
func (d definitions) root(name string) Cursor {
	if d[name] == nil {
		return Cursor{}
	}
	return Cursor{definitions: d}.at(layers{d[name]})
}

// Known reports whether the cursor is at a schema.
func (c Cursor) Known() bool { return len(c.layers) > 0 }

func (c Cursor) at(schemas layers) Cursor {
	e := expansion{definitions: c.definitions, follow: func(name string) (bool, error) {
		return c.definitions[name] != nil, nil
	}}
	if err := e.all(schemas); err != nil || len(schemas) == 0 {
		return Cursor{}
	}
	return Cursor{definitions: c.definitions, layers: e.out}
}

// Has reports whether the schema has a field with a name.
func (c Cursor) Has(name string) bool { return len(c.layers.property(name)) > 0 }

// Field returns the cursor at a named field, or at a key of a map.
func (c Cursor) Field(name string) Cursor {
	if c.definitions == nil {
		return c
	}
	if l := c.layers.property(name); len(l) > 0 {
		return c.at(l)
	}
	return c.at(c.layers.additional())
}

// Elem returns the cursor at the elements of a list.
func (c Cursor) Elem() Cursor {
	if c.definitions == nil {
		return c
	}
	return c.at(c.layers.items())
}

// IsKey reports whether a name is the key of a map and not a field.
func (c Cursor) IsKey(name string) bool {
	return len(c.layers.property(name)) == 0 && len(c.layers.additional()) > 0
}

// List returns how the elements of the list at the cursor are identified: by the returned keys for
// the kind ListMap, by their values for Set, and only by their positions for List.
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

// OnlyDefaults reports whether a decoded JSON value is the default of the schema; see
// Default.Is.
func (c Cursor) OnlyDefaults(value any, omitempty bool) bool {
	return c.Default().Is(value, omitempty)
}

// Cursor returns the cursor at the root of a definition.
func (m *Models) Cursor(definition string) Cursor { return m.definitions.root(definition) }

// Values returns the cursor at the values of a map.
func (c Cursor) Values() Cursor {
	if c.definitions == nil {
		return c
	}
	return c.at(c.layers.additional())
}

// Names returns the sorted names of the fields.
func (c Cursor) Names() []string {
	var out []string
	for _, s := range c.layers {
		for name := range s.Properties {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Definition returns the name of the first definition that the schema at the cursor refers to, ""
// if it refers to none.
func (c Cursor) Definition() string {
	for _, s := range c.layers {
		if name := refName(s); name != "" {
			return name
		}
	}
	return ""
}

// Open reports whether the schema keeps fields that it does not name.
func (c Cursor) Open() bool {
	return c.layers.extension("x-kubernetes-preserve-unknown-fields").value == true
}

// MayBeObject reports whether the schema allows objects with fields.
func (c Cursor) MayBeObject() bool {
	return c.layers.mayBe("object") && len(c.layers.items()) == 0 && len(c.layers.additional()) == 0
}

// Excludes reports whether the schema declares an excluded permission of the field itself. It also
// returns true if the extensions can't be read.
func (c Cursor) Excludes() bool {
	m, err := c.layers.marks()
	if err != nil {
		return true
	}
	excluded, err := m.excluded.flag(ExtExcluded)
	return excluded || err != nil
}
