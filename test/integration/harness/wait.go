// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// waitTimeout is long enough for a busy machine with two cores.
const waitTimeout = 2 * time.Minute

// Until waits until done returns true. If that takes longer than waitTimeout, Until ends the test
// with a message that contains what, the description of the condition.
func Until(t testing.TB, what string, done func() bool) {
	t.Helper()
	if err := poll(t, 20*time.Millisecond, done); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// UntilSeen is like Until, but asks less often, and the message contains what done saw last.
func UntilSeen(t testing.TB, what string, done func() (ok bool, seen string)) {
	t.Helper()
	last := ""
	err := poll(t, 100*time.Millisecond, func() (ok bool) {
		ok, last = done()
		return ok
	})
	if err != nil {
		t.Fatalf("%s: %v; last seen: %s", what, err, last)
	}
}

func poll(t testing.TB, interval time.Duration, done func() bool) error {
	// A cleanup may wait after the test's own context has ended.
	ctx := context.WithoutCancel(t.Context())
	return wait.PollUntilContextTimeout(ctx, interval, waitTimeout, true, func(context.Context) (bool, error) { return done(), nil })
}
