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

// Change is a difference between two objects, charged to one node of the permission tree (the tree
// of a kind's fields and their permissions).
type Change struct {
	// Node is the nearest node at or above the difference that carries a permission. If no such
	// node exists, it is the root.
	Node *schema.Node
	// Ambiguous is true if the walk does not know what differs below Extent. The change then
	// stands for everything below Extent.
	Ambiguous bool
	// Presence is true if the change is only that the container at Extent was added or removed,
	// and nothing in the container changed. Ambiguous is then true as well.
	Presence bool
	// WithContainer is true if an object, map or list that contains the location of Node was
	// added or removed together with the change.
	WithContainer bool
	// removedAt is the number of steps to the first element of Extent, or of Path, that only the
	// old object has. It is 0 if there is none.
	removedAt int32

	// values are the values from which permissions of Node's chain make their parameter. Several
	// changes may share the slice, so it is never modified in place.
	values []placeValue

	// at and extent are the locations that Path and Extent return.
	at, extent *location
}

// Path returns the location of Node in the object. If no permission covers the difference, it
// returns the top-level field. The result is allocated at each call.
func (c *Change) Path() Path { return c.at.path() }

// Extent returns the location of the object, map or list that an Ambiguous change stands for. It
// equals Path, or is a location below Path.
func (c *Change) Extent() Path { return c.extent.path() }

// Truncate returns a change with only the first steps of the Path of c, and with no other data. It
// is for a message to a caller that may not know the rest of the Path.
func (c *Change) Truncate(steps int) Change { return Change{at: c.at.up(steps)} }

// narrowest returns the deepest location that is known to contain the difference.
func (c *Change) narrowest() *location {
	if c.Ambiguous {
		return c.extent
	}
	return c.at
}

// Parameter returns the raw key from which p, a permission of the node's chain, makes its
// parameter. It returns an empty string if p has no parameter, or makes its parameter from a value:
// then see Values.
func (c *Change) Parameter(p *schema.Permission) string {
	from := p.Parameter
	if from == nil || from.FromValue || from.SourceDepth >= depthOf(c.at) {
		return ""
	}
	// The source is a map or list. The next step of the path has the key in it.
	keys := c.at.up(from.SourceDepth + 1).Keys
	if from.SourceKey >= len(keys) {
		return ""
	}
	return keys[from.SourceKey]
}

// Verb returns the verb of p, a permission of the node's chain. If p makes its parameter from
// values, Verb returns the narrowest verb for the first value. An error means that p has no verb
// for this change and can't cover it.
func (c *Change) Verb(ctx context.Context, costs *schema.CostBudget, p *schema.Permission) (permission.Verb, error) {
	if p.Parameter == nil || !p.Parameter.FromValue {
		return p.Verb(ctx, costs, c.Parameter(p))
	}
	values, known := c.Values(p)
	if !known {
		return permission.Verb{}, schema.ErrNoParameter
	}
	return p.Verb(ctx, costs, values[0])
}

// Verbs returns the narrowest verbs of p, a permission of the node's chain, that together cover the
// change: one verb, or one for each value. An error means that p can't cover the change.
func (c *Change) Verbs(ctx context.Context, costs *schema.CostBudget, p *schema.Permission) ([]permission.Verb, error) {
	if p.Parameter == nil || !p.Parameter.FromValue {
		v, err := c.Verb(ctx, costs, p)
		return []permission.Verb{v}, err
	}
	values, known := c.Values(p)
	if !known {
		return nil, schema.ErrNoParameter
	}
	out := make([]permission.Verb, len(values))
	for i, text := range values {
		var err error
		if out[i], err = p.Verb(ctx, costs, text); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Uses reports whether verb is a verb of p, a permission of the node's chain, that covers the
// change or one of its values.
func (c *Change) Uses(ctx context.Context, costs *schema.CostBudget, p *schema.Permission, verb string) bool {
	keys := []string{c.Parameter(p)}
	if p.Parameter != nil && p.Parameter.FromValue {
		keys, _ = c.Values(p)
	}
	for _, key := range keys {
		verbs, err := p.Verbs(ctx, costs, key)
		if err == nil && slices.ContainsFunc(verbs, func(v permission.Verb) bool { return v.String() == verb }) {
			return true
		}
	}
	return false
}

// String returns the change for tests and traces: its path, followed by an asterisk if it is
// Ambiguous. It shows keys and no values.
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

// Set is the changes of one write, sorted by path, without duplicates. The nil Set means that
// nothing changed.
type Set []Change

// Top returns the name of the top-level field that contains the change. It is empty if the
// change is at the root.
func (c *Change) Top() string {
	if top := c.at.up(1); top != nil {
		return top.Field
	}
	return ""
}

// normalize returns the set sorted by path and without duplicates.
func (s Set) normalize() Set {
	if s.ordered() {
		return s
	}
	return newIndex(s).sorted(s)
}

// ordered reports whether the set is known to be sorted and without duplicates. It may return false
// for a sorted set. The walk mostly adds changes in order, so sorting is rarely necessary.
func (s Set) ordered() bool {
	for i := 1; i < len(s); i++ {
		a, b := &s[i-1], &s[i]
		if !a.at.before(b.at) && (a.at != b.at || a.Ambiguous || !b.Ambiguous) {
			return false
		}
	}
	return true
}
