// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"context"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"

	"kube-granular.dev/hack/mutants/internal/mutate"
)

// parallel calls f for 0 to n-1, with at most workers calls at the same time. After a call fails,
// it starts no new calls and returns the error.
func parallel(ctx context.Context, workers, n int, f func(i int) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	workqueue.ParallelizeUntil(ctx, workers, n, func(i int) {
		if err := f(i); err != nil {
			stop(err)
		}
	})
	return context.Cause(ctx)
}

// RunAll runs tests for many mutants, with at most workers mutants at the same time. It calls done
// with each result, and never makes two such calls at the same time. binary returns the test
// binary for a mutant, or nil if there are no tests. grace is a CPU time, as in Run.
func RunAll(ctx context.Context, workers int, grace time.Duration, mutants []mutate.Mutant, binary func(*mutate.Mutant) *Binary, done func(Result)) error {
	var one sync.Mutex
	return parallel(ctx, workers, len(mutants), func(i int) error {
		r, err := Run(ctx, grace, mutants[i], binary(&mutants[i]))
		if err == nil {
			one.Lock()
			defer one.Unlock()
			done(r)
		}
		return err
	})
}
