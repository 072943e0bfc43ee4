// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"testing"
	"time"
)

// TestRule holds that the rule of the package accepts what a server may do and refuses what it must not. Times are
// seconds. The turns of each row are settled at 100.
func TestRule(t *testing.T) {
	origin := time.Unix(0, 0)
	second := func(seconds int) time.Time { return origin.Add(time.Duration(seconds) * time.Second) }
	own, peer, late := &server{name: "own"}, &server{name: "peer"}, &server{name: "late", started: second(50)}
	enable := func(s *server, call, answer int) *turn {
		return &turn{active: true, server: s, call: second(call), answer: second(answer), answered: true}
	}
	disable := func(s *server, call, answer int) *turn {
		return &turn{server: s, call: second(call), answer: second(answer), answered: true}
	}
	saw := func(s *server, active bool, call, answer int) attempt {
		return attempt{active: active, server: s, call: second(call), answer: second(answer)}
	}
	for name, c := range map[string]struct {
		turns    []*turn
		attempts []attempt
		refused  bool
	}{
		"nothing happened":                  {nil, []attempt{saw(own, false, 1, 2)}, false},
		"on without a turn":                 {nil, []attempt{saw(own, true, 1, 2)}, true},
		"on after the answer":               {[]*turn{enable(own, 1, 2)}, []attempt{saw(own, true, 3, 4)}, false},
		"off after the answer":              {[]*turn{enable(own, 1, 2)}, []attempt{saw(own, false, 3, 4)}, true},
		"either during the turn":            {[]*turn{enable(own, 1, 4)}, []attempt{saw(own, false, 2, 3), saw(own, true, 3, 5)}, false},
		"on and off again during the turn":  {[]*turn{enable(own, 1, 9)}, []attempt{saw(own, true, 2, 3), saw(own, false, 4, 5)}, true},
		"a peer is late":                    {[]*turn{enable(own, 1, 2)}, []attempt{saw(peer, false, 3, 4), saw(peer, true, 5, 6)}, false},
		"a peer goes back":                  {[]*turn{enable(own, 1, 2)}, []attempt{saw(peer, true, 3, 4), saw(peer, false, 5, 6)}, true},
		"a peer is late for two turns":      {[]*turn{enable(own, 1, 2), disable(own, 3, 4)}, []attempt{saw(peer, true, 5, 6), saw(peer, false, 7, 8)}, false},
		"a peer brings back what was gone":  {[]*turn{enable(own, 1, 2), disable(own, 3, 4)}, []attempt{saw(peer, true, 5, 6), saw(peer, false, 7, 8), saw(peer, true, 9, 10)}, true},
		"the server is late for its own":    {[]*turn{enable(own, 1, 2), disable(own, 3, 4)}, []attempt{saw(own, true, 5, 6)}, true},
		"a peer has not caught up":          {[]*turn{enable(own, 1, 2)}, []attempt{saw(peer, false, 101, 102)}, true},
		"a server that started knows it":    {[]*turn{enable(own, 1, 2)}, []attempt{saw(late, true, 51, 52)}, false},
		"a server that started is late":     {[]*turn{enable(own, 1, 2)}, []attempt{saw(late, false, 51, 52)}, true},
		"a turn while a server starts":      {[]*turn{enable(own, 49, 51)}, []attempt{saw(late, false, 52, 53), saw(late, true, 54, 55)}, false},
		"no answer, so it may be late here": {[]*turn{{active: true, server: own, call: second(1), answer: second(9)}}, []attempt{saw(own, false, 10, 11), saw(own, true, 12, 13)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := &record{turns: c.turns, attempts: c.attempts}
			r.settle(second(100))
			if errs := r.check(); len(errs) > 0 != c.refused {
				t.Errorf("%v", errs)
			}
		})
	}
}
