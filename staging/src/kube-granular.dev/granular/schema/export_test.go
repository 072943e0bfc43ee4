// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"maps"
	"slices"
)

// Plain compiles every kind by itself and every place of it by itself.
var Plain Option = func(m *Models) { m.plain = true }

// Size is how many slots the tables have.
func (s *Sharing) Size() int { return len(s.nodes.slots) + len(s.links.slots) }

// Kept names the definitions a tree keeps.
func (t *Tree) Kept() []string { return slices.Sorted(maps.Keys(t.definitions)) }
