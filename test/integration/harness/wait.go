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
	// A cleanup may call Until after the test's own context has ended.
	err := wait.PollUntilContextTimeout(context.WithoutCancel(t.Context()), 20*time.Millisecond, waitTimeout, true, func(context.Context) (bool, error) { return done(), nil })
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}
