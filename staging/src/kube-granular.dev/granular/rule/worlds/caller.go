// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package worlds

import (
	"context"
	"fmt"
	"math/bits"
)

// maxVerbs is how many verbs a Caller can be asked for.
const maxVerbs = 63

// Caller is somebody who holds a set of verbs. The set is decided one verb at a time: a verb that nobody
// asked for can't matter, so one caller stands for all sets that agree in the verbs that were asked for.
//
//	caller.Begin()
//	for more := true; more; more = caller.Next() {
//		... caller.Holds(verb) ...
//	}
type Caller struct {
	verbs       map[string]int
	names       []string
	asked, held uint64
	// waiting are the callers still to be judged: those who hold the last verb that they were asked for.
	waiting [][2]uint64
	writes  uint64
	// over is set if there were too many verbs.
	over bool
}

// NewCaller returns a caller who was asked for no verb yet.
func NewCaller() *Caller { return &Caller{verbs: map[string]int{}} }

// Begin turns into the first caller of a write: one who holds nothing.
func (c *Caller) Begin() {
	c.asked, c.held, c.waiting = 0, 0, c.waiting[:0]
	c.writes++
}

// Next turns into the next caller of the same write. It returns false if there is none.
func (c *Caller) Next() bool {
	last := len(c.waiting) - 1
	if last < 0 {
		return false
	}
	c.asked, c.held = c.waiting[last][0], c.waiting[last][1]
	c.waiting = c.waiting[:last]
	return true
}

// Holds reports whether the caller holds a verb. The first time, it does not, and a caller who does waits. If it
// was asked for 63 other verbs, it holds no more, and Worlds says that the number does not fit.
func (c *Caller) Holds(verb string) bool {
	i, ok := c.verbs[verb]
	if !ok {
		if i = len(c.verbs); i == maxVerbs {
			c.over = true
			return false
		}
		c.verbs[verb] = i
		c.names = append(c.names, verb)
	}
	bit := uint64(1) << i
	if c.asked&bit == 0 {
		c.waiting = append(c.waiting, [2]uint64{c.asked | bit, c.held | bit})
		c.asked |= bit
	}
	return c.held&bit != 0
}

// Worlds returns how many worlds were judged: each write that began is one with each set of the verbs that were
// asked for in all writes together. The callers of one write stand for all of these sets, because each set
// agrees with exactly one of them. There are more such verbs if more writes are judged, so this is a lower
// bound.
func (c *Caller) Worlds() Count {
	over, number := bits.Mul64(c.writes, 1<<len(c.names))
	return Count{Number: number, Over: c.over || over > 0}
}

// Count is a number of worlds.
type Count struct {
	Number uint64
	// Over is set if the number does not fit. Then Number has no meaning.
	Over bool
}

// Plus returns the sum.
func (c Count) Plus(other Count) Count {
	number, over := bits.Add64(c.Number, other.Number, 0)
	return Count{Number: number, Over: c.Over || other.Over || over > 0}
}

// FirstAllowed implements decide.Authorizer.
func (c *Caller) FirstAllowed(_ context.Context, verbs []string) (int, error) {
	for i, verb := range verbs {
		if c.Holds(verb) {
			return i, nil
		}
	}
	return -1, nil
}

// String returns the verbs that the caller holds.
func (c *Caller) String() string {
	var out []string
	for i, name := range c.names {
		if c.held>>i&1 == 1 {
			out = append(out, name)
		}
	}
	return fmt.Sprint(out)
}
