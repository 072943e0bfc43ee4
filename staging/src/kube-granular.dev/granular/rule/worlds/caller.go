// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package worlds

import (
	"context"
	"fmt"
	"math/bits"
)

// MaxVerbs is how many verbs a Caller can be asked for.
const MaxVerbs = 63

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

// Holds reports whether the caller holds a verb. The first time, it does not, and a caller who does waits. It
// panics if it was asked for more than MaxVerbs verbs in all writes.
func (c *Caller) Holds(verb string) bool {
	i, ok := c.verbs[verb]
	if !ok {
		if i = len(c.verbs); i == MaxVerbs {
			panic("too many verbs for one caller")
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
// bound. It panics if the number does not fit.
func (c *Caller) Worlds() uint64 {
	over, out := bits.Mul64(c.writes, 1<<len(c.names))
	return exact(out, over)
}

// Sum returns a + b, and panics if the number does not fit.
func Sum(a, b uint64) uint64 { return exact(bits.Add64(a, b, 0)) }

func exact(number, over uint64) uint64 {
	if over > 0 {
		panic("too many worlds to be counted")
	}
	return number
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
