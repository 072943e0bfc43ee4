// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package expression

import "context"

// Lane lets one caller at a time compile, so that compiling never takes more than one processor. It
// starts no goroutine: whoever waits stops waiting when its request ends.
type Lane chan struct{}

// NewLane returns a free Lane.
func NewLane() Lane { return make(Lane, 1) }

// Enter waits until the lane is free. Leave must be called if it returns nil.
func (l Lane) Enter(ctx context.Context) error {
	select {
	case l <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Leave frees the lane.
func (l Lane) Leave() { <-l }
