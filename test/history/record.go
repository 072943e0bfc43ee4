// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"

	"kube-granular.dev/test/integration/cluster"
	"kube-granular.dev/test/integration/harness"
)

// server is one run of one of the servers. A server that is killed and started again is another one.
type server struct {
	name    string
	slot    int
	started time.Time
	cluster *cluster.Cluster
	client  *harness.Client
}

// turn is a write that turns a switch on or off. Its answer is known, or was found out later.
type turn struct {
	active       bool
	server       *server
	call, answer time.Time
	// answered reports whether the server itself answered. Otherwise answer is the time when the outcome was known.
	answered bool
	// settled is the time when all servers had caught up.
	settled time.Time
}

// attempt is a write of a user, which shows whether the switch is on.
type attempt struct {
	active       bool
	server       *server
	call, answer time.Time
}

// record holds what was seen of one switch.
type record struct {
	lock     sync.Mutex
	turns    []*turn
	attempts []attempt
}

func (r *record) addTurn(t *turn) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.turns = append(r.turns, t)
}

func (r *record) addAttempt(a attempt) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.attempts = append(r.attempts, a)
}

// settle notes that all servers have caught up with the turns so far.
func (r *record) settle(now time.Time) {
	r.lock.Lock()
	defer r.lock.Unlock()
	for _, t := range r.turns {
		if t.settled.IsZero() {
			t.settled = now
		}
	}
}

// servers returns the servers that answered attempts.
func (r *record) servers() []*server {
	var out []*server
	for _, a := range r.attempts {
		if !slices.Contains(out, a.server) {
			out = append(out, a.server)
		}
	}
	return out
}

// input is what the model gets of a turn, or of an attempt, whose number is 0.
type input struct {
	number int
	active bool
}

// state is a switch after a number of turns.
type state struct {
	turns  int
	active bool
}

// switching is the model of a switch: turns come in their order, and an attempt sees the last one.
var switching = porcupine.Model{
	Init: func() any { return state{} },
	Step: func(before, given, _ any) (bool, any) {
		s, i := before.(state), given.(input)
		if i.number == 0 {
			return i.active == s.active, s
		}
		return i.number == s.turns+1, state{i.number, i.active}
	},
	DescribeOperation: func(given, _ any) string {
		if i := given.(input); i.number != 0 {
			return fmt.Sprintf("turn %d: on=%t", i.number, i.active)
		}
		return fmt.Sprintf("saw on=%t", given.(input).active)
	},
}

// operations returns the history of one server.
func (r *record) operations(s *server) []porcupine.Operation {
	var out []porcupine.Operation
	for i, t := range r.turns {
		end := t.settled
		if t.answered && t.server == s || t.answer.Before(s.started) {
			end = t.answer
		}
		out = append(out, porcupine.Operation{ClientId: 0, Input: input{i + 1, t.active}, Call: t.call.UnixNano(), Return: end.UnixNano()})
	}
	for _, a := range r.attempts {
		if a.server == s {
			out = append(out, porcupine.Operation{ClientId: 1, Input: input{0, a.active}, Call: a.call.UnixNano(), Return: a.answer.UnixNano()})
		}
	}
	slices.SortFunc(out, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	return out
}

// check returns an error for each server whose history has no order that the rule allows.
func (r *record) check() []error {
	var out []error
	for _, s := range r.servers() {
		operations := r.operations(s)
		result, info := porcupine.CheckOperationsVerbose(switching, operations, time.Minute)
		if result != porcupine.Ok {
			out = append(out, fmt.Errorf("%s: %s: %s", s.name, result, explain(operations, info)))
		}
	}
	return out
}

// explain returns the operations around the first one that fits into no order.
func explain(operations []porcupine.Operation, info porcupine.LinearizationInfo) string {
	longest := 0
	for _, partial := range info.PartialLinearizations() {
		for _, order := range partial {
			longest = max(longest, len(order))
		}
	}
	out := fmt.Sprintf("%d of %d operations fit", longest, len(operations))
	for _, o := range operations[max(0, min(longest, len(operations))-6):min(len(operations), longest+6)] {
		out += fmt.Sprintf("\n  %s, from %s to %s", switching.DescribeOperation(o.Input, nil),
			time.Unix(0, o.Call).Format("15:04:05.000"), time.Unix(0, o.Return).Format("15:04:05.000"))
	}
	return out
}
