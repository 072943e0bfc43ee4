// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Plain compiles every kind and every place without cache and interner.
var Plain Option = func(m *Models) { m.uncached = true }

// Size returns how many slots the tables of the Interner have.
func (s *Interner) Size() int { return s.nodes.Size() + s.permissions.Size() }

// Permissions returns how many entries the table of permissions has.
func (s *Interner) Permissions() int { return s.permissions.Used() }

// Default returns the default that OnlyDefault compares with.
func (n *Node) Default() *Default {
	if n.extra == nil {
		return nil
	}
	return n.extra.fallback
}

func (d *Default) String() string {
	if d == nil {
		return "-"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%v %v %v", d.kind, d.value, d.zero)
	for _, list := range []map[string]*Default{d.fields, d.others} {
		b.WriteString("{")
		for _, name := range slices.Sorted(maps.Keys(list)) {
			b.WriteString(name + ": " + list[name].String() + ", ")
		}
		b.WriteString("}")
	}
	for _, e := range d.elems {
		b.WriteString("[" + e.String() + "]")
	}
	return b.String()
}
