// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"slices"
	"strings"

	"kube-granular.dev/granular/permission"
	"kube-granular.dev/granular/schema"
)

// Change is one permission node that changed.
type Change struct {
	// Node is the node charged: the nearest one at or above the difference that
	// carries a permission, otherwise the root.
	Node *schema.Node
	// Path is where Node lies in the object. Where no permission covers the
	// difference, it is the field of the root.
	Path Path
	// Whole says that what happened below Extent could not be told apart, so the
	// change stands for anything below it.
	Whole bool
	// Presence says that Whole is set because the container at Extent appeared or
	// vanished and nothing in it changed.
	Presence bool
	// Brings says that a container between Node's place and the root appeared or vanished
	// with the change.
	Brings bool
	// gone is how many steps lead to the first element of Extent, or Path, that is in the
	// old object alone, 0 if there is none.
	gone int32
	// Extent is Path, or a container below it, where Whole is set.
	Extent Path

	// id and extent are the IDs of Path and, where Whole is set, of Extent. They are
	// spelled where there is something to tell the change from.
	id, extent string
}

// place is where the change is: its Path or, where it is Whole, its Extent.
func (c *Change) place() Path {
	if c.Whole {
		return c.Extent
	}
	return c.Path
}

// ids gives the IDs of Path and, where Whole is set, of Extent.
func (c *Change) ids() (id, extent string) {
	if id = c.id; id == "" {
		id = c.Path.id()
	}
	if extent = c.extent; extent == "" && c.Whole {
		extent = c.Extent.id()
	}
	return id, extent
}

// Parameter gives the raw key a permission of the node's chain is parameterised
// by, empty if it takes none.
func (c *Change) Parameter(p *schema.Permission) string {
	from := p.Parameter
	if from == nil || from.SourceDepth >= len(c.Path) {
		return ""
	}
	// The step that leads on from the source has its key.
	keys := c.Path[from.SourceDepth].Keys
	if from.SourceKey >= len(keys) {
		return ""
	}
	return keys[from.SourceKey]
}

// Verb gives the verb of a permission of the node's chain. An error means that
// the permission has no verb for this change, so it can't cover it.
func (c *Change) Verb(p *schema.Permission) (permission.Verb, error) { return p.Verb(c.Parameter(p)) }

// String names the change in tests and traces: its path, and an asterisk if it
// is Whole. It shows keys, but no values.
func (c *Change) String() string {
	s := c.Path.String()
	if s == "" {
		s = "."
	}
	if c.Whole {
		s += " *" + strings.TrimPrefix(c.Extent.String(), c.Path.String())
	}
	return s
}

// Set is the changes of one write, sorted by path, each at most once. The nil
// Set is no change.
type Set []Change

func compare(a, b Change) int {
	if d := strings.Compare(a.id, b.id); d != 0 {
		return d
	}
	if a.Whole != b.Whole {
		if b.Whole {
			return -1
		}
		return 1
	}
	if d := strings.Compare(a.extent, b.extent); d != 0 || a.Presence == b.Presence {
		return d
	}
	if b.Presence {
		return -1
	}
	return 1
}

// normal sorts and drops what is there twice.
func (s Set) normal() Set {
	if len(s) < 2 {
		return s
	}
	for i := range s {
		s[i].id, s[i].extent = s[i].ids()
	}
	slices.SortFunc(s, compare)
	return slices.CompactFunc(s, func(a, b Change) bool { return compare(a, b) == 0 })
}
