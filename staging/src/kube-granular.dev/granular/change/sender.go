// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"slices"
	"sort"

	"kube-granular.dev/granular/schema"
)

// Sender describes the caller of a request that is not allowed to see the object. The Sender knows
// the fields of the schema, and the map keys, list keys and set elements in its own request. All
// other keys and elements of the object are hidden from the Sender.
type Sender struct {
	walker *Walker
	// inBody reports whether a key is in the body of the request. If it is nil, the body is the
	// whole new object that observed was computed from.
	inBody   func(key string) bool
	observed Set
	// root is the cursor at the root of the schema. It is nil until the first use, because the
	// schema may have to be generated.
	root *schema.Cursor
}

// Sender returns the Sender of a request. wrote reports whether a key is in the body of the
// request. If wrote is nil, the body is the whole new object that observed was computed from.
func (w *Walker) Sender(wrote func(key string) bool, observed Set) *Sender {
	return &Sender{walker: w, inBody: wrote, observed: observed}
}

// Knows returns the number of steps of a change's location that the Sender knows. A message may
// show these steps. Knows also reports whether the verbs of the change depend on these steps alone.
// Verbs with a parameter made from a value do not: they also depend on the old value, which is
// hidden from the Sender.
func (s *Sender) Knows(c *Change) (steps int, verbs bool) {
	place := c.narrowest().path()
	steps = slices.IndexFunc(place, func(step Step) bool { return s.isHidden(step) })
	if steps < 0 {
		return len(place), !c.HasValues()
	}
	if s.inBody != nil {
		steps = s.knownFromBody(place, steps)
	} else {
		steps = s.knownFromObject(c, place, steps)
	}
	return steps, steps >= depthOf(c.at) && !c.HasValues()
}

// isHidden reports whether a step shows content of the object: a key, or a field that the schema
// does not have.
func (s *Sender) isHidden(step Step) bool {
	if step.Field == "" || step.Node != nil {
		return len(step.Keys) > 0
	}
	if s.root == nil {
		root := s.walker.Tree().Schema()
		s.root = &root
	}
	return !s.root.Has(step.Field)
}

// knownFromBody returns the number of steps of place that the Sender knows if inBody is set. The
// Sender knows the first from steps. It knows a later step if the step is not hidden, or if the
// body has it.
func (s *Sender) knownFromBody(place Path, from int) int {
	for i := from; i < len(place); i++ {
		step := place[i]
		if s.isHidden(step) && !s.bodyHasStep(place[:i], step) {
			return i
		}
	}
	return len(place)
}

// bodyHasStep reports whether the body has a step: its field name, or the keys of its element. The
// body may omit keys with their default value, but must have at least one key of the element.
func (s *Sender) bodyHasStep(above Path, step Step) bool {
	if step.Field != "" {
		return s.inBody(step.Field)
	}
	var names []schema.Key
	if n := len(above); n > 0 && above[n-1].Node != nil {
		names = above[n-1].Node.Keys()
	}
	one := false
	for i, key := range step.Keys {
		if s.inBody(key) {
			one = true
			continue
		}
		if i >= len(names) {
			return false
		}
		if text, _, ok := scalarText(names[i].Default); !ok || text != key {
			return false
		}
	}
	return one
}

// knownFromObject returns the number of steps of place that the Sender knows if the body is the
// whole new object. Mutating admission may have added keys, so a step counts as known only if the
// observed changes have it. Elements that only the old object has are not known.
func (s *Sender) knownFromObject(c *Change, place Path, from int) int {
	if place[from].Field != "" {
		return from
	}
	i := sort.Search(len(s.observed), func(i int) bool {
		return compareLocations(s.observed[i].at, c.at) >= 0
	})
	known := from
	for ; i < len(s.observed); i++ {
		o := &s.observed[i]
		if compareLocations(o.at, c.at) != 0 {
			break
		}
		if o.removedAt > 0 && int(o.removedAt) <= depthOf(c.at) {
			return max(from, int(o.removedAt)-1)
		}
		known = depthOf(c.at)
	}
	// Below the location of the observed change, the Sender knows only fields of the schema.
	for known < len(place) && !s.isHidden(place[known]) {
		known++
	}
	return known
}
