// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"context"
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

	// values are those that permissions of Node's chain make their parameter of. A change
	// shares them with others, so nobody writes to them.
	values []placeValue

	// at and extent are what Path and Extent spell out.
	at, extent *place
}

// Path returns where Node lies in the object. Where no permission covers the
// difference, it is the field of the root. It is made anew each time.
func (c *Change) Path() Path { return c.at.path() }

// Extent returns, where Whole is set, Path or that of a container below it.
func (c *Change) Extent() Path { return c.extent.path() }

// Above returns the change as it is told to who knows only the first steps of its Path: a
// place, and nothing of what happened there.
func (c *Change) Above(steps int) Change { return Change{at: c.at.up(steps)} }

// narrowest returns the narrowest place known to hold the difference.
func (c *Change) narrowest() *place {
	if c.Whole {
		return c.extent
	}
	return c.at
}

// Parameter gives the raw key a permission of the node's chain is parameterised
// by, empty if it takes none or is parameterised by a value; see Values.
func (c *Change) Parameter(p *schema.Permission) string {
	from := p.Parameter
	if from == nil || from.FromValue || from.SourceDepth >= depthOf(c.at) {
		return ""
	}
	// The step that leads on from the source has its key.
	keys := c.at.up(from.SourceDepth + 1).Keys
	if from.SourceKey >= len(keys) {
		return ""
	}
	return keys[from.SourceKey]
}

// Verb returns the verb of a permission of the node's chain, or of its first value the
// narrowest one. An error means that the permission has no verb for this change, so it can't
// cover it.
func (c *Change) Verb(ctx context.Context, spending *schema.Spending, p *schema.Permission) (permission.Verb, error) {
	if p.Parameter == nil || !p.Parameter.FromValue {
		return p.Verb(ctx, spending, c.Parameter(p))
	}
	values, known := c.Values(p)
	if !known {
		return permission.Verb{}, schema.ErrNoParameter
	}
	return p.Verb(ctx, spending, values[0])
}

// Verbs returns the narrowest verbs of a permission of the node's chain that together cover
// the change: one, or one for each value. An error means that there are none.
func (c *Change) Verbs(ctx context.Context, spending *schema.Spending, p *schema.Permission) ([]permission.Verb, error) {
	if p.Parameter == nil || !p.Parameter.FromValue {
		v, err := c.Verb(ctx, spending, p)
		return []permission.Verb{v}, err
	}
	values, known := c.Values(p)
	if !known {
		return nil, schema.ErrNoParameter
	}
	out := make([]permission.Verb, len(values))
	for i, text := range values {
		var err error
		if out[i], err = p.Verb(ctx, spending, text); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Uses reports whether a verb of a permission of the node's chain covers the change, or one of
// its values.
func (c *Change) Uses(ctx context.Context, spending *schema.Spending, p *schema.Permission, verb string) bool {
	keys := []string{c.Parameter(p)}
	if p.Parameter != nil && p.Parameter.FromValue {
		keys, _ = c.Values(p)
	}
	for _, key := range keys {
		verbs, err := p.Verbs(ctx, spending, key)
		if err == nil && slices.ContainsFunc(verbs, func(v permission.Verb) bool { return v.String() == verb }) {
			return true
		}
	}
	return false
}

// String names the change in tests and traces: its path, and an asterisk if it
// is Whole. It shows keys, but no values.
func (c *Change) String() string {
	path := c.Path().String()
	s := path
	if s == "" {
		s = "."
	}
	if c.Whole {
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
func (s Set) normal() Set {
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
		if !a.at.before(b.at) && (a.at != b.at || a.Whole || !b.Whole) {
			return false
		}
	}
	return true
}
