// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authorizer

import (
	"context"
	"errors"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/registry/generic/registry"

	"kube-granular.dev/pkg/rbacindex"
)

// Respond gives the caller of a granular request the object only if the caller may
// get it. Else a permission to write one label of a Secret would read the Secret;
// what is left is what identifies the object.
func (w *write) Respond(ctx context.Context, result runtime.Object) runtime.Object {
	w.finish(ctx, nil)
	shown := !w.marked || w.mayGet(ctx)
	w.warnings.settle(shown)
	if shown {
		return result
	}
	return identityOf(result)
}

// RespondError takes out of an error what could show a field that the caller may
// not get: upstream's validation quotes values, a patch that does not decode is
// quoted as a whole, a conflict names other managers, the storage of roles lists the
// rules nobody may grant, and an admission plugin or policy may say anything. What is
// no answer of the API at all, and would become a 500, quotes what could not be merged
// or converted. What stays is what quiet leaves.
func (w *write) RespondError(ctx context.Context, err error) error {
	w.finish(ctx, err)
	var status apierrors.APIStatus
	answer := errors.As(err, &status)
	quotes := !answer || !w.harmless(err, status.Status())
	shown := !w.marked || quotes && w.mayGet(ctx)
	w.warnings.settle(shown)
	if shown || !quotes {
		return err
	}
	if !answer {
		// Upstream logs what it makes a 500 of.
		utilruntime.HandleErrorWithContext(ctx, logged(err), "A granular write failed", w.what(nil)...)
		status = apierrors.NewInternalError(errQuiet)
	}
	return &apierrors.StatusError{ErrStatus: w.quiet(status.Status())}
}

// harmless says which errors hold nothing of the object: our own, that of a create
// that upstream refused, and those that name the object and say no more.
func (w *write) harmless(err error, status metav1.Status) bool {
	if last := w.verdict.Load(); last != nil && last.err != nil && apierrors.IsForbidden(err) && errors.Is(err, last.err) {
		return true
	}
	if w.createRefused.Load() && apierrors.IsForbidden(err) {
		return true
	}
	if status.Details == nil {
		return false
	}
	resource, name := w.target.Resource.GroupResource(), status.Details.Name
	switch {
	case apierrors.IsNotFound(err):
		return status.Message == apierrors.NewNotFound(resource, name).Error()
	case apierrors.IsAlreadyExists(err):
		return status.Message == apierrors.NewAlreadyExists(resource, name).Error()
	case apierrors.IsConflict(err):
		return status.Message == apierrors.NewConflict(resource, name, errors.New(registry.OptimisticLockErrorMsg)).Error()
	}
	return false
}

// mayGet asks for get on the object of the request, once. A create that was posted names
// no object; then get must be allowed for any.
func (w *write) mayGet(ctx context.Context) bool {
	if known := w.readable.Load(); known != nil {
		return *known
	}
	return w.askGet(rbacindex.For(ctx, w.attributes))
}

func (w *write) askGet(ctx context.Context) bool {
	readable, _ := allows(ctx, w.gate.Authorizer, w.attributes, "get")
	w.readable.Store(&readable)
	return readable
}

// identityOf makes an object of the same type that holds nothing but its identity.
func identityOf(result runtime.Object) runtime.Object {
	old, err := meta.Accessor(result)
	if err != nil {
		return &metav1.Status{Status: metav1.StatusSuccess}
	}
	var identity runtime.Object
	if u, ok := result.(runtime.Unstructured); ok {
		identity = u.NewEmptyInstance()
	} else {
		identity = reflect.New(reflect.TypeOf(result).Elem()).Interface().(runtime.Object)
	}
	identity.GetObjectKind().SetGroupVersionKind(result.GetObjectKind().GroupVersionKind())
	accessor, err := meta.Accessor(identity)
	if err != nil {
		return &metav1.Status{Status: metav1.StatusSuccess}
	}
	accessor.SetName(old.GetName())
	accessor.SetNamespace(old.GetNamespace())
	accessor.SetUID(old.GetUID())
	accessor.SetResourceVersion(old.GetResourceVersion())
	return identity
}
