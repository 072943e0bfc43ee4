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

// Respond returns what the caller sees of result, the object after the write. A caller that holds
// the ordinary verb sees the whole object. The caller of a granular request sees the whole object
// only if it is allowed to get the object. If not, it sees only the name, namespace, UID and
// resource version. If it saw more, a permission to write one label of a Secret would let it read
// the Secret.
func (w *write) Respond(ctx context.Context, result runtime.Object) runtime.Object {
	w.finish(ctx, nil)
	shown := !w.marked || w.mayGetResult(ctx)
	told := shown
	if w.marked && isScale(w.target.Kind) {
		told = w.warnings.Held() && w.mayGet(ctx) // the authorizer is asked only if there is a warning
	}
	w.warnings.Settle(told)
	if shown {
		return result
	}
	return redact.Identity(result)
}

// RespondError returns what the caller sees of an error. If the request is granular, and the
// caller is not allowed to get the object, RespondError removes all that could show a field of the
// object. Validation quotes values. If a patched object can't be decoded, the error quotes the
// whole object. A conflict contains the names of other field managers, the storage of roles lists
// the rules that the caller must not grant, and an admission plugin or policy can return any text.
// An error without a status of the API becomes a 500, and quotes what could not be merged or
// converted. Package redact decides what remains. If the caller may not make its change at all, it
// sees that refusal instead; see expectedRefusal.
func (w *write) RespondError(ctx context.Context, err error) error {
	var status apierrors.APIStatus
	answer := errors.As(err, &status)
	quotes := !answer || !w.harmless(err, status.Status())
	shown := !w.marked || quotes && w.mayGet(ctx)
	if quotes && !shown {
		if refusal := w.expectedRefusal(ctx); refusal != nil {
			err, quotes = refusal, false
		}
	}
	w.finish(ctx, err)
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

// harmless reports whether an error can be shown to a caller that is not allowed to get the
// object. That is so for a refusal by this package, for upstream's refusal of the create that an
// update implies, and for an error that contains nothing of the object but the name.
func (w *write) harmless(err error, status metav1.Status) bool {
	if last := w.verdict.Load(); last != nil && last.err != nil && apierrors.IsForbidden(err) && errors.Is(err, last.err) {
		return true
	}
	if w.createRefused.Load() && apierrors.IsForbidden(err) {
		return true
	}
	return redact.NamesOnly(err, status, w.target.Resource.GroupResource(), registry.OptimisticLockErrorMsg)
}

// requestNames returns the name, resource and kind of the object, as the request has them.
func (w *write) requestNames() redact.Request {
	return redact.Request{Name: w.attributes.GetName(), Resource: w.target.Resource.GroupResource(), Kind: w.target.Kind.GroupKind()}
}

// mayGet reports whether the caller is allowed to get all that errors and warnings can tell of. That is the object of the
// request. For a scale it is the scaled object: validation, admission and conversion look at that one.
func (w *write) mayGet(ctx context.Context) bool {
	if !isScale(w.target.Kind) {
		return w.mayGetResult(ctx)
	}
	shown := w.answered()
	if known := shown.scaled.Load(); known != nil {
		return *known
	}
	whole := wholeObject{w.attributes}
	readable, _ := allows(rbacindex.For(ctx, whole), w.gate.Authorizer, whole, "get")
	shown.scaled.Store(&readable)
	return readable
}

// mayGetResult reports whether the caller is allowed to get the object of the request. It asks the
// authorizer only once for a request. The URL of a create by POST contains no name. Then mayGetResult
// reports whether the caller is allowed to get every object of the resource.
func (w *write) mayGetResult(ctx context.Context) bool {
	shown := w.answered()
	if known := shown.readable.Load(); known != nil {
		return *known
	}
	return shown.askGet(rbacindex.For(ctx, w.attributes))
}

func (w *write) askGet(ctx context.Context) bool {
	readable, _ := allows(ctx, w.gate.Authorizer, w.attributes, "get")
	w.readable.Store(&readable)
	return readable
}
