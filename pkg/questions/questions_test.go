// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package questions

import (
	"context"
	"testing"
	"testing/synctest"
)

// TestAskWaits checks that Ask waits while another caller makes the same check by the same
// authorizer, and only then.
func TestAskWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &Questions{}
		one, other := new(int), new(int)
		answered := q.Ask(t.Context(), one, "granular", "a")
		// If one of these calls waited, the test would hang.
		q.Ask(t.Context(), one, "granular", "b")()
		q.Ask(t.Context(), one, "update", "a")()
		q.Ask(t.Context(), one, "granularity", "a")()
		q.Ask(t.Context(), other, "granular", "a")()

		returned := 0
		for range 3 {
			go func() {
				q.Ask(t.Context(), one, "granular", "a")()
				returned++
			}()
		}
		synctest.Wait()
		if returned != 0 {
			t.Fatalf("%d did not wait for the answer", returned)
		}
		answered()
		synctest.Wait()
		if returned != 3 {
			t.Fatalf("%d of 3 came back after the answer", returned)
		}
		if len(q.pending) != 0 {
			t.Errorf("%d questions are kept", len(q.pending))
		}
	})
}

// TestAskWaitsNoLonger checks that Ask does not wait longer than its context, and that a caller
// that gave up does not end the wait of others.
func TestAskWaitsNoLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &Questions{}
		answered := q.Ask(t.Context(), q, "granular:labels", "a")
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		q.Ask(gone, q, "granular:labels", "a")()

		stayed := false
		go func() {
			q.Ask(t.Context(), q, "granular:labels", "a")()
			stayed = true
		}()
		synctest.Wait()
		if stayed {
			t.Error("a caller that gave up ended the wait of another")
		}
		answered()
		synctest.Wait()
		if !stayed {
			t.Error("it waits for ever")
		}
	})
}
