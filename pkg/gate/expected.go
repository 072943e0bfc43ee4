// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/runtime"

	"kube-granular.dev/granular/change"
)

// pair are the objects of the current attempt in which the caller's change was observed.
type pair struct{ newObj, oldObj runtime.Object }

// expectedRefusal returns the refusal that Verify would give for what the caller changes, or nil if the caller may change
// all of it. Admission, validation and the hooks of the storage come before Verify, and what they say depends on fields
// that the caller may not see. So their error, even without its text, is kept from a caller whose own change would be
// refused: one that holds granular and no permission could find out hidden values by bisection.
//
// An attempt to create the object that an update implies has no hidden fields, and neither has an attempt that failed before
// the change was observed.
func (w *write) expectedRefusal(ctx context.Context) error {
	switch {
	case ctx.Err() != nil:
		return ended() // the attempt may still be running
	case w.seen == nil || w.create != nil && w.create.known:
		return nil
	}
	newObj, oldObj := w.seen.newObj, w.seen.oldObj
	if failed := w.unverifiable(); failed != nil {
		return w.unverified(ctx, failed, failed.err, newObj)
	}
	if !w.known {
		return w.forbidden(newObj, errors.New("its fields can't be verified"))
	}
	changes := w.observed
	if w.scale != nil {
		changes = w.scale.changes(w.observed, w.observed, w.marked)
	}
	if w.tampered {
		changes = append(change.Set{w.managedFields()}, changes...)
	}
	w.missing = nil
	refusal, err := w.decide(ctx, w.knownFirst(ctx, changes), w.marked, newObj)
	if refusal != nil {
		err = w.refused(ctx, refusal, newObj, oldObj)
	}
	if err != nil {
		w.settle(&verdict{err: err, missing: w.missing, calls: w.adapter.calls})
	}
	return err
}
