// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"slices"
	"sort"

	"kube-granular.dev/granular/schema"
)

// Sender is whoever sent a request and may not see the object. It knows the fields of
// the schema, and the keys of maps and lists and the elements of sets that stand in its
// own request; the others are what it may not see.
type Sender struct {
	walker   *Walker
	inBody   func(key string) bool
	observed Set
	// root is the schema's own, once it was needed: it may have to be made.
	root *schema.Cursor
}

// Sender returns the sender of a request of which wrote says what stands in it, or, where
// that is nil, of one that holds all of the new object that observed was made with.
func (w *Walker) Sender(wrote func(key string) bool, observed Set) *Sender {
	return &Sender{walker: w, inBody: wrote, observed: observed}
}

// Knows returns how many steps the sender knows of the place of a change, which are those
// that a message may show, and whether its verbs depend on those alone.
func (s *Sender) Knows(c *Change) (steps int, verbs bool) {
	place := c.narrowest().path()
	steps = slices.IndexFunc(place, func(step Step) bool { return s.isHidden(step) })
	if steps < 0 {
		return len(place), true
	}
	if s.inBody != nil {
		steps = s.knownFromBody(place, steps)
	} else {
		steps = s.knownFromObject(c, place, steps)
	}
	return steps, steps >= depthOf(c.at)
}

// hides says that a step is one that not every object of the kind has.
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

// written returns how many steps are known, from the first that has to be written on.
func (s *Sender) knownFromBody(place Path, from int) int {
	for i := from; i < len(place); i++ {
		step := place[i]
		if s.isHidden(step) && !s.bodyHasStep(place[:i], step) {
			return i
		}
	}
	return len(place)
}

// wroteStep says that a step stands in the request: its field, or the keys of its
// element. Of these the ones that are the schema's default may be left out, but not all.
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

// brought is written where the new object is what was written. What is about to be stored
// may hold more by now, so it is the change as observed that counts.
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
	// What is below the path is not what was observed.
	for known < len(place) && !s.isHidden(place[known]) {
		known++
	}
	return known
}
