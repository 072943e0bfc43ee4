// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authorization/granular"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/decide"
	"kube-granular.dev/pkg/gate/redact"
	"kube-granular.dev/pkg/metrics"
)

// refused builds the 403 of a change that is not covered: the object, the field,
// and the most general and the most specific verb that would have done. It never
// holds a value, nor every verb that is missing (KEP-3617, "Risks and
// Mitigations"); and no key that the caller neither sent nor may read.
func (w *write) refused(ctx context.Context, refusal *decide.Refusal, newObj, oldObj runtime.Object) error {
	return w.refusedIn(ctx, w.written(), refusal, newObj, oldObj)
}

// inVersion is the version of an object that is judged.
type inVersion struct {
	kind   *kind
	target granular.Target
	// observed is what the caller changes in that version.
	observed change.Set
	// shown is what a message says of the version, empty for the one that was written.
	shown string
}

// written is the version of the request.
func (w *write) written() inVersion {
	return inVersion{kind: w.kind, target: w.target, observed: w.observed}
}

// refusedIn is refused for a change in any version.
func (w *write) refusedIn(ctx context.Context, in inVersion, refusal *decide.Refusal, newObj, oldObj runtime.Object) error {
	if refusal.Reason == decide.Budget || refusal.Reason == decide.Cost {
		metrics.OverBudget(ctx)
	}
	path, told := w.visibleTo(ctx, in, refusal, newObj, oldObj)
	switch { // the audit log is not the caller
	case refusal.General == "":
	case refusal.General == refusal.Specific, refusal.Specific == "":
		w.missing = []string{refusal.General}
	default:
		w.missing = []string{refusal.Specific, refusal.General}
	}
	return w.boundedForbidden(newObj, func(l redact.Limits) (string, metav1.StatusCause) {
		path := change.Shorten(path, l.Path)
		cause := metav1.StatusCause{Type: metav1.CauseTypeForbidden, Field: path}
		if l.Causes {
			cause.Message = told.Needs()
		}
		return fmt.Sprintf("%s%s%s: %s", told.Cannot(path), in.shown, w.where(l), told.Needs()), cause
	})
}

// told is the field behind a refusal and the refusal, as far as the caller may be told.
func (w *write) visibleTo(ctx context.Context, in inVersion, refusal *decide.Refusal, newObj, oldObj runtime.Object) (string, *decide.Refusal) {
	c := refusal.Change
	switch {
	case in.kind == w.kind && w.tampered && c.Path().String() == w.managedFieldsPath():
		// The objects hold the server's managed fields by now, not the caller's.
		return ".metadata.managedFields", refusal
	case in.kind == w.kind && w.scale.isReplicas(c):
		return ".spec.replicas", refusal
	}
	located := func() string { return in.kind.locate(in.target, c, newObj, oldObj, (*change.Walker).Locate) }
	if !w.marked {
		return located(), refusal
	}
	known, all := w.sender(in).Knows(&c)
	outline := in.kind.locate(in.target, c, newObj, oldObj, func(walker *change.Walker, c change.Change, old, new any) string {
		return walker.Outline(c, old, new, known)
	})
	if all && outline == located() {
		return outline, refusal
	}
	if w.mayGet(ctx) {
		return located(), refusal
	}
	return outline, refusal.Withhold(known)
}

// refuseAll stands in where a request says nothing about its caller.
type refuseAll struct {
	err error
}

func (r refuseAll) Patch(context.Context, types.PatchType, []byte) error {
	return apierrors.NewInternalError(r.err)
}

func (r refuseAll) Submitted(context.Context, runtime.Object, runtime.Object) error {
	return apierrors.NewInternalError(r.err)
}

func (r refuseAll) Observe(context.Context, runtime.Object, runtime.Object) error {
	return apierrors.NewInternalError(r.err)
}

func (r refuseAll) Verify(context.Context, runtime.Object, runtime.Object) error {
	return apierrors.NewInternalError(r.err)
}

func (r refuseAll) Changed(context.Context, runtime.Object, runtime.Object) error {
	return apierrors.NewInternalError(r.err)
}

func (r refuseAll) Respond(context.Context, runtime.Object) runtime.Object {
	return &metav1.Status{}
}

func (r refuseAll) RespondError(_ context.Context, err error) error {
	return err
}
