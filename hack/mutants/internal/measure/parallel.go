// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"context"
	"sync"
	"time"

	"kube-granular.dev/hack/mutants/internal/mutate"
)

// parallel calls f for 0 to n-1, with limited concurrency, until a call fails.
func parallel(ctx context.Context, workers, n int, f func(i int) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	next := make(chan int)
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for i := range next {
				if err := f(i); err != nil {
					stop(err)
				}
			}
		})
	}
	for i := range n {
		select {
		case next <- i:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(next)
	all.Wait()
	return context.Cause(ctx)
}

// RunAll runs tests for many mutants. It calls done with each result, never concurrently. binary
// returns the test binary for a mutant, or nil if no tests can run.
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
