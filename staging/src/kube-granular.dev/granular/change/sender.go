// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"slices"
	"sort"

	"kube-granular.dev/granular/schema"
)

// Sender is the caller of a request who is not allowed to see the object. The sender knows the
// fields of the schema. Of the keys of maps and lists and the elements of sets, the sender knows
// only those in the request.
type Sender struct {
	walker *Walker
	// inBody reports whether a key is in the body of the request. If inBody is nil, the body is the
	// whole new object that the field observed was computed from.
	inBody   func(key string) bool
	observed Set
	// applied is set if the new object that the field observed was computed from has more than the
	// body: a server-side apply merges the body into it. Then a key must be in both.
	applied bool
	// root is the cursor at the root of the schema. It is nil until needed, because the schema may
	// have to be generated.
	root *schema.Cursor
}

// Sender returns the sender of a request. observed are the changes of the request before mutating
// admission. wrote reports whether a field name or a key is in the body of the request. If wrote is
// nil, the body is the whole new object that observed was computed from.
func (w *Walker) Sender(wrote func(key string) bool, observed Set) *Sender {
	return &Sender{walker: w, inBody: wrote, observed: observed}
}

// SenderOfApply returns the sender of a server-side apply. inBody reports whether a field name or a
// key is in the applied configuration, and observed are the changes before mutating admission. The
// sender knows a key only if inBody and observed both show it: the new object also has the keys of
// other managers, and the configuration can have the same key in another place.
func (w *Walker) SenderOfApply(inBody func(key string) bool, observed Set) *Sender {
	return &Sender{walker: w, inBody: inBody, observed: observed, applied: true}
}

// Knows returns how many steps of the location of a change the sender knows, counted from the
// root. A message may show these steps. verbs is set if these steps determine which verbs cover the
// change. It is never set if a verb is made from field values, because such a verb also depends on
// the old value, which the sender is not allowed to see.
func (s *Sender) Knows(c *Change) (steps int, verbs bool) {
	place := c.narrowest().path()
	steps = slices.IndexFunc(place, func(step Step) bool { return s.isHidden(step) })
	if steps < 0 {
		return len(place), !c.HasValues()
	}
	switch start := steps; {
	case s.inBody == nil:
		steps = s.knownFromObject(c, place, start)
	case s.applied:
		steps = min(s.knownFromBody(place, start), s.knownFromObject(c, place, start))
	default:
		steps = s.knownFromBody(place, start)
	}
	return steps, steps >= depthOf(c.at) && !c.HasValues()
}

// isHidden reports whether a step has a key, or a field that the schema does not have. The schema
// alone does not reveal such a step.
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

// knownFromBody returns how many steps of the path place the sender knows from the body of the
// request. start is the index of the first step that the schema alone does not reveal.
func (s *Sender) knownFromBody(place Path, start int) int {
	for i := start; i < len(place); i++ {
		step := place[i]
		if s.isHidden(step) && !s.bodyHasStep(place[:i], step) {
			return i
		}
	}
	return len(place)
}

// bodyHasStep reports whether the body contains a step: the name of its field, or the keys of its
// element. Keys that have their default value can be missing in the body, but the body must contain
// at least one key. above is the path that the step starts from.
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

// knownFromObject is knownFromBody for a body that is the whole new object. The change c is one
// about to be stored, and mutating admission may have added keys that the body lacks. So the sender
// knows a key only if a change at the same location was observed before admission.
func (s *Sender) knownFromObject(c *Change, place Path, start int) int {
	if place[start].Field != "" {
		return start
	}
	i := sort.Search(len(s.observed), func(i int) bool {
		return compareLocations(s.observed[i].at, c.at) >= 0
	})
	known := start
	for ; i < len(s.observed); i++ {
		o := &s.observed[i]
		if compareLocations(o.at, c.at) != 0 {
			break
		}
		if o.removedAt > 0 && int(o.removedAt) <= depthOf(c.at) {
			return max(start, int(o.removedAt)-1)
		}
		known = depthOf(c.at)
	}
	// No observed change reaches below this location, so a hidden step there is not known.
	for known < len(place) && !s.isHidden(place[known]) {
		known++
	}
	return known
}
