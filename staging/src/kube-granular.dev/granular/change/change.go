// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"context"
	"strings"

	"kube-granular.dev/granular/permission"
	"kube-granular.dev/granular/schema"
)

// Change is one permission node that changed.
type Change struct {
	// Node is the node charged: the nearest one at or above the difference that
	// carries a permission, otherwise the root.
	Node *schema.Node
	// Whole says that what happened below Extent could not be told apart, so the
	// change stands for anything below it.
	Ambiguous bool
	// Presence says that Whole is set because the container at Extent appeared or
	// vanished and nothing in it changed.
	Presence bool
	// Brings says that a container between Node's place and the root appeared or vanished
	// with the change.
	WithContainer bool
	// gone is how many steps lead to the first element of Extent, or Path, that is in the
	// old object alone, 0 if there is none.
	removedAt int32

	// at and extent are what Path and Extent spell out.
	at, extent *location
}

// Path returns where Node lies in the object. Where no permission covers the
// difference, it is the field of the root. It is made anew each time.
func (c *Change) Path() Path { return c.at.path() }

// Extent returns, where Whole is set, Path or that of a container below it.
func (c *Change) Extent() Path { return c.extent.path() }

// Above returns the change as it is told to who knows only the first steps of its Path: a
// place, and nothing of what happened there.
func (c *Change) Truncate(steps int) Change { return Change{at: c.at.up(steps)} }

// narrowest returns the narrowest place known to hold the difference.
func (c *Change) narrowest() *location {
	if c.Ambiguous {
		return c.extent
	}
	return c.at
}

// Parameter gives the raw key a permission of the node's chain is parameterised
// by, empty if it takes none.
func (c *Change) Parameter(p *schema.Permission) string {
	from := p.Parameter
	if from == nil || from.SourceDepth >= depthOf(c.at) {
		return ""
	}
	// The step that leads on from the source has its key.
	keys := c.at.up(from.SourceDepth + 1).Keys
	if from.SourceKey >= len(keys) {
		return ""
	}
	return keys[from.SourceKey]
}

// Verb returns the verb of a permission of the node's chain. An error means that
// the permission has no verb for this change, so it can't cover it.
func (c *Change) Verb(ctx context.Context, spending *schema.CostBudget, p *schema.Permission) (permission.Verb, error) {
	return p.Verb(ctx, spending, c.Parameter(p))
}

// String names the change in tests and traces: its path, and an asterisk if it
// is Whole. It shows keys, but no values.
func (c *Change) String() string {
	path := c.Path().String()
	s := path
	if s == "" {
		s = "."
	}
	if c.Ambiguous {
		s += " *" + strings.TrimPrefix(c.Extent().String(), path)
	}
	return s
}

// Set is the changes of one write, sorted by path, each at most once. The nil
// Set is no change.
type Set []Change

// Top returns the field of the root the change lies under, empty where it is the root
// itself.
func (c *Change) Top() string {
	if top := c.at.up(1); top != nil {
		return top.Field
	}
	return ""
}

// normal sorts and drops what is there twice.
func (s Set) normalize() Set {
	if s.ordered() {
		return s
	}
	return newIndex(s).sorted(s)
}

// ordered reports whether a set is seen to be in order, with nothing in it twice. A walk
// mostly charges in order.
func (s Set) ordered() bool {
	for i := 1; i < len(s); i++ {
		a, b := &s[i-1], &s[i]
		if !a.at.before(b.at) && (a.at != b.at || a.Ambiguous || !b.Ambiguous) {
			return false
		}
	}
	return true
}
