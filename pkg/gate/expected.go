// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/pkg/rbacindex"
)

// pair are the objects of the current attempt in which the caller's change was observed. Admission and the strategy of the
// storage change newObj later.
type pair struct{ newObj, oldObj runtime.Object }

// errMayBeStored is the answer to a caller that may not see the error of a request that has ended: the attempt may go on.
var errMayBeStored = apierrors.NewTimeoutError("the request ended, and may have been carried out", 0)

// expectedRefusal returns the refusal that Verify would give for what the caller changes, or nil if the caller may change
// all of it. Admission, validation and the hooks of the storage come before Verify, and what they say depends on fields
// that the caller may not see. So their error, even without its text, is kept from a caller whose own change would be
// refused: one that holds granular and no permission could find out hidden values by bisection.
//
// An attempt to create the object that an update implies has no hidden fields, and neither has an attempt that failed before
// the change was observed. Protected attributes, other versions and derived changes are not judged here.
func (w *write) expectedRefusal(ctx context.Context) error {
	switch {
	case ctx.Err() != nil:
		return errMayBeStored // and the attempt may still use what follows
	case w.seen == nil || w.create != nil && w.create.known:
		return nil
	}
	asking := ctx
	asking, w.query = rbacindex.ForMore(ctx, w.attributes, w.query)
	w.missing = nil
	err := w.judgeSeen(asking, w.seen.newObj, w.seen.oldObj)
	if err != nil {
		w.settle(&verdict{err: err, missing: w.missing, calls: w.adapter.calls})
		w.verified(ctx, 0, w.seen.newObj, err)
	}
	return err
}

// judgeSeen verifies newObj as far as it has come. Of a scale it judges the specification, which is all that a scale stores.
func (w *write) judgeSeen(ctx context.Context, newObj, oldObj runtime.Object) error {
	if failed := w.unverifiable(); failed != nil {
		return w.unverified(ctx, failed, failed.err, newObj)
	}
	if !isScale(w.target.Kind) {
		return w.verifyFinal(ctx, newObj, oldObj)
	}
	changes := slices.DeleteFunc(slices.Clone(w.observed), func(c change.Change) bool { return c.Top() != "spec" })
	if w.scale != nil {
		changes = w.scale.changes(nil, changes, w.marked)
	}
	refusal, err := w.decide(ctx, w.knownFirst(ctx, changes), w.marked, newObj)
	if refusal != nil {
		err = w.refused(ctx, refusal, newObj, oldObj)
	}
	return err
}
