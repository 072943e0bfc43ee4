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

// Change is a difference between two objects that is charged to one node of the permission tree, at
// one location of the object: the caller needs a permission that covers this node.
type Change struct {
	// Node is the node that the difference is charged to: the nearest one at or above the
	// difference that carries a permission, or the root if none does.
	Node *schema.Node
	// Ambiguous is set if it is not known what differs at and below the location Extent. The change
	// then stands for a difference anywhere at or below Extent.
	Ambiguous bool
	// Presence is set if Ambiguous is set only because the object, map or list at Extent was added
	// or removed, and no difference was found inside it.
	Presence bool
	// WithContainer is set if an object, map or list above Node's location was added or removed in
	// the same write.
	WithContainer bool
	// removedAt is set if the path to the difference leads through a map or list element that only
	// the old object has. It is the number of steps from the root to the first such element, and
	// otherwise 0.
	removedAt int32

	// values are the field values from which permissions that cover Node make their parameter.
	// Several changes may share the slice, so the slice is never modified in place.
	values []placeValue

	// at and extent are the locations that Path and Extent return.
	at, extent *location
}

// Path returns the location of Node in the object. If no permission covers the difference, Path
// returns the location of the top-level field that contains the difference. The result is
// allocated at each call.
func (c *Change) Path() Path { return c.at.path() }

// Extent returns the location of the object, map or list that an Ambiguous change stands for. It
// is equal to Path or below it. For other changes the result is nil.
func (c *Change) Extent() Path { return c.extent.path() }

// Truncate returns a change whose Path is cut to its first steps, and whose exported fields are
// all zero. steps is the number of steps to keep. The result is for messages to a caller who knows
// only these steps.
func (c *Change) Truncate(steps int) Change { return Change{at: c.at.up(steps)} }

// narrowest returns the deepest location that is known to contain the difference.
func (c *Change) narrowest() *location {
	if c.Ambiguous {
		return c.extent
	}
	return c.at
}

// Parameter returns the raw key from which the permission p makes its parameter. p must be one of
// the permissions that cover Node. Parameter returns "" if p takes no parameter, or makes the
// parameter from a field value; see Values.
func (c *Change) Parameter(p *schema.Permission) string {
	parameter := p.Parameter
	if parameter == nil || parameter.FromValue || parameter.SourceDepth >= depthOf(c.at) {
		return ""
	}
	// The step from the parameter source to its element has the key.
	keys := c.at.up(parameter.SourceDepth + 1).Keys
	if parameter.SourceKey >= len(keys) {
		return ""
	}
	return keys[parameter.SourceKey]
}

// Verb returns the verb with which the permission p covers the change. p must be one of the
// permissions that cover Node. If p makes its parameter from field values, Verb returns the most
// specific verb for the first value. costs limits the evaluation of parameter expressions. An error
// means that p has no verb for this change, so p can't cover the change.
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

// Verbs returns the most specific verbs with which the permission p covers the change. p must be
// one of the permissions that cover Node. If p makes its parameter from field values, there is one
// verb for each value, and the caller needs all of them. If p does not, there is one verb. costs
// limits the evaluation of parameter expressions. An error means that p can't cover the change.
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

// Uses reports whether verb is a verb of the permission p for the change. p must be one of the
// permissions that cover Node. If p makes its parameter from field values, a verb for one of the
// values of the change suffices.
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
		if exact, ok := p.Exact(key); ok && exact.String() == verb {
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

// ordered reports whether the set is known to be sorted and without duplicates. It mostly returns
// true, because a comparison adds changes almost in this order.
func (s Set) ordered() bool {
	for i := 1; i < len(s); i++ {
		a, b := &s[i-1], &s[i]
		if !a.at.before(b.at) && (a.at != b.at || a.Ambiguous || !b.Ambiguous) {
			return false
		}
	}
	return true
}
