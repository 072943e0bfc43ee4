// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/registry/generic/registry"

	"kube-granular.dev/pkg/gate/redact"
	"kube-granular.dev/pkg/rbacindex"
)

// Respond gives the caller of a granular request the object only if the caller may
// get it. Else a permission to write one label of a Secret would read the Secret;
// what is left is what identifies the object.
func (w *write) Respond(ctx context.Context, result runtime.Object) runtime.Object {
	w.finish(ctx, nil)
	shown := !w.marked || w.mayGet(ctx)
	w.warnings.Settle(shown)
	if shown {
		return result
	}
	return redact.Identity(result)
}

// RespondError takes out of an error what could show a field that the caller may
// not get: upstream's validation quotes values, a patch that does not decode is
// quoted as a whole, a conflict names other managers, the storage of roles lists the
// rules nobody may grant, and an admission plugin or policy may say anything. What is
// no answer of the API at all, and would become a 500, quotes what could not be merged
// or converted. What stays is what package redact leaves.
func (w *write) RespondError(ctx context.Context, err error) error {
	w.finish(ctx, err)
	var status apierrors.APIStatus
	answer := errors.As(err, &status)
	quotes := !answer || !w.harmless(err, status.Status())
	shown := !w.marked || quotes && w.mayGet(ctx)
	w.warnings.Settle(shown)
	if shown || !quotes {
		return err
	}
	if !answer {
		// Upstream logs what it makes a 500 of.
		utilruntime.HandleErrorWithContext(ctx, redact.Logged(err), "A granular write failed", w.logFields(nil)...)
		status = apierrors.NewInternalError(redact.ErrHidden)
	}
	return &apierrors.StatusError{ErrStatus: redact.Status(status.Status(), w.requestNames())}
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
	return redact.NamesOnly(err, status, w.target.Resource.GroupResource(), registry.OptimisticLockErrorMsg)
}

// said is what the request says of its object.
func (w *write) requestNames() redact.Request {
	return redact.Request{Name: w.attributes.GetName(), Resource: w.target.Resource.GroupResource(), Kind: w.target.Kind.GroupKind()}
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
