// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authorizer

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authorization/granular"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/decide"
	"kube-granular.dev/pkg/metrics"
)

// refused builds the 403 of a change that is not covered: the object, the field,
// and the most general and the most specific verb that would have done. It never
// holds a value, nor every verb that is missing (KEP-3617, "Risks and
// Mitigations").
func (w *write) refused(ctx context.Context, refusal *decide.Refusal, newObj, oldObj runtime.Object) error {
	path := ".spec.replicas"
	if !w.scale.meant(refusal.Change) {
		path = w.place(ctx, refusal.Change, newObj, oldObj)
	}
	if w.tampered && refusal.Change.Path().String() == w.managedFieldsPath() {
		// The objects hold the server's managed fields by now, not the caller's.
		path = ".metadata.managedFields"
	}
	return w.notCovered(ctx, refusal, newObj, path, path)
}

// notCovered is refused for a path that is known. shown is how the message names it.
func (w *write) notCovered(ctx context.Context, refusal *decide.Refusal, newObj runtime.Object, path, shown string) error {
	if refusal.Reason == decide.Budget || refusal.Reason == decide.Cost {
		metrics.OverBudget(ctx)
	}
	var missing []string
	switch {
	case refusal.General == "":
	case refusal.General == refusal.Specific, refusal.Specific == "":
		missing = []string{refusal.General}
	default:
		missing = []string{refusal.General, refusal.Specific}
	}
	err := apierrors.NewForbidden(w.target.Resource.GroupResource(), w.name(newObj),
		fmt.Errorf("User %q %s%s: %s", w.user(), refusal.Cannot(shown), w.where(), refusal.Needs()))
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{
		Type:    metav1.CauseTypeForbidden,
		Field:   path,
		Message: refusal.Needs(),
	})
	w.missing = missing
	return err
}

// place names the field behind a change. Callers who may not get the object are told
// none of its keys but those that a verb goes by.
func (w *write) place(ctx context.Context, c change.Change, newObj, oldObj runtime.Object) string {
	return w.placeIn(ctx, w.kind, w.target, c, newObj, oldObj)
}

// placeIn is place in the version of a kind and target.
func (w *write) placeIn(ctx context.Context, kind *kind, target granular.Target, c change.Change, newObj, oldObj runtime.Object) string {
	path := kind.locate(target, c, newObj, oldObj, (*change.Walker).Locate)
	if !w.marked {
		return path
	}
	outline := kind.locate(target, c, newObj, oldObj, (*change.Walker).Outline)
	if outline == path || w.mayGet(ctx) {
		return path
	}
	return outline
}

// forbidden refuses the whole object, because its fields can't be judged.
func (w *write) forbidden(newObj runtime.Object, why error) error {
	return apierrors.NewForbidden(w.target.Resource.GroupResource(), w.name(newObj),
		fmt.Errorf("User %q can't write it%s: %w", w.user(), w.where(), why))
}

// where says in which namespace, and through which subresource: roles name both.
func (w *write) where() string {
	where := ""
	if namespace := w.attributes.GetNamespace(); namespace != "" {
		where = fmt.Sprintf(" in namespace %q", namespace)
	}
	if w.target.Subresource != "" {
		where += fmt.Sprintf(" through %q", w.target.Resource.Resource+"/"+w.target.Subresource)
	}
	return where
}

func (w *write) user() string {
	if user := w.attributes.GetUser(); user != nil {
		return user.GetName()
	}
	return ""
}

// name is that of the request, or, where a create is posted, that of the object.
func (w *write) name(obj runtime.Object) string {
	if name := w.attributes.GetName(); name != "" {
		return name
	}
	if accessor, err := meta.Accessor(obj); err == nil {
		return accessor.GetName()
	}
	return ""
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

func (r refuseAll) Respond(context.Context, runtime.Object) runtime.Object {
	return &metav1.Status{}
}

func (r refuseAll) RespondError(_ context.Context, err error) error {
	return err
}
