// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/pkg/gate/convert"
)

// creation connects a granular update or patch of a missing object with the create that it implies.
// If the caller holds the verb create, that create is verified as if it were sent by POST: only for
// fields with an excluded permission. If somebody else creates the object meanwhile, the update or
// patch itself verifies the next attempt, for all fields.
type creation struct {
	// create verifies the implied create. It is nil until the object turns out to be missing, and for
	// a request that is not granular.
	create *write
	// begun is the update or patch that implies this create, and whose caller gets the response. It is
	// nil for every other write.
	begun *write
}

// observeCreate finds and keeps what the caller changes in fields with an excluded permission, if
// the object is missing in this attempt.
func (w *write) observeCreate(ctx context.Context, newObj, oldObj runtime.Object) error {
	if !w.marked || w.target.Subresource != "" || convert.Stored(oldObj) {
		if w.create != nil { // the change of an earlier attempt proves nothing
			w.create.observation = observation[change.Set]{}
		}
		return nil
	}
	if w.create == nil {
		c := newWrite(ctx, w.gate, w.target, w.kind, w.attributes, w.marker)
		c.marked, c.stored = false, storedOf(w.target, false, w.kind.added)
		c.questions, c.patch, c.begun = w.questions, w.patch, w
		w.create = c
	}
	return w.create.Observe(ctx, newObj, oldObj)
}

// answered returns the write that responds to the caller.
func (w *write) answered() *write {
	if w.begun != nil {
		return w.begun
	}
	return w
}

// settle keeps the result of an attempt where the response is made.
func (w *write) settle(v *verdict) {
	w.verdict.Store(v)
	w.answered().verdict.Store(v)
}
