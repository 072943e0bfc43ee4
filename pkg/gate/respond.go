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

// Respond returns what the caller sees of the result of the write. The caller of a granular
// request sees the whole object only if it may get the object, and otherwise only the name,
// namespace, UID and resource version. If it saw more, a permission to write one label of a
// Secret would let it read the Secret.
func (w *write) Respond(ctx context.Context, result runtime.Object) runtime.Object {
	w.finish(ctx, nil)
	shown := !w.marked || w.mayGet(ctx)
	w.warnings.Settle(shown)
	if shown {
		return result
	}
	return redact.Identity(result)
}

// RespondError removes from an error what could show a field of an object that the caller may not
// get: validation quotes values, a patch that does not decode is quoted as a whole, a conflict
// names other managers, the storage of roles lists the rules that the caller may not grant, and
// an admission plugin or policy may return any text. An error without a status of the API, which
// would become a 500, quotes what could not be merged or converted. Package redact decides what
// remains.
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
		// Upstream logs an error before it becomes a 500.
		utilruntime.HandleErrorWithContext(ctx, redact.Logged(err), "A granular write failed", w.logFields(nil)...)
		status = apierrors.NewInternalError(redact.ErrHidden)
	}
	return &apierrors.StatusError{ErrStatus: redact.Status(status.Status(), w.requestNames())}
}

// harmless reports whether an error shows nothing of the object but its name. Such errors are a
// refusal by this package, a refusal by upstream of the create that an update implies, and errors
// whose only content is the name.
func (w *write) harmless(err error, status metav1.Status) bool {
	if last := w.verdict.Load(); last != nil && last.err != nil && apierrors.IsForbidden(err) && errors.Is(err, last.err) {
		return true
	}
	if w.createRefused.Load() && apierrors.IsForbidden(err) {
		return true
	}
	return redact.NamesOnly(err, status, w.target.Resource.GroupResource(), registry.OptimisticLockErrorMsg)
}

// requestNames returns how the request names its object.
func (w *write) requestNames() redact.Request {
	return redact.Request{Name: w.attributes.GetName(), Resource: w.target.Resource.GroupResource(), Kind: w.target.Kind.GroupKind()}
}

// mayGet reports whether the caller may get the object of the request. It asks the authorizer
// only once. A create by POST names no object; then the caller must be allowed to get any object
// of the resource.
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
