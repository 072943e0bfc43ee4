// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// waitTimeout bounds waiting on a busy machine with two cores.
const waitTimeout = 2 * time.Minute

// Until waits until what is said is so, and ends the test if that takes too long.
func Until(t *testing.T, what string, done func() bool) {
	t.Helper()
	// What a test puts back, it waits for when its own context has ended.
	err := wait.PollUntilContextTimeout(context.WithoutCancel(t.Context()), 20*time.Millisecond, waitTimeout, true, func(context.Context) (bool, error) { return done(), nil })
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}
