// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authorization/granular"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/decide"
	"kube-granular.dev/pkg/audit"
	"kube-granular.dev/pkg/gate/redact"
	"kube-granular.dev/pkg/metrics"
	"kube-granular.dev/pkg/refusal"
)

// refused returns the 403 for a change that no permission of the caller covers. The error contains
// the name of the object, the path of the field, and the most general and the most specific verb
// that would have covered the change. It never contains the value of a field, nor the verbs that
// other changes would need (KEP-3617, "Risks and Mitigations"). It contains the key of a map only
// if the caller sent the key or is allowed to get the object.
func (w *write) refused(ctx context.Context, refusal *decide.Refusal, newObj, oldObj runtime.Object) error {
	return w.refusedIn(ctx, w.written(), refusal, newObj, oldObj)
}

// inVersion is one version in which the object is verified: the version of the request, or another
// version to which a conversion webhook converts the object.
type inVersion struct {
	kind   *kind
	target granular.Target
	// observed is the caller's change in that version.
	observed change.Set
	// shown is the text for the version in a message, such as " of version v2". It is empty for
	// the version of the request.
	shown string
	// derived is set if the change is one that the server itself makes; see verifyDerived.
	derived bool
}

// written returns the inVersion for the version of the request.
func (w *write) written() inVersion {
	return inVersion{kind: w.kind, target: w.target, observed: w.observed}
}

// refusedIn returns the 403 that refused describes, for a change that was found in a version.
// newObj and oldObj are objects of that version.
func (w *write) refusedIn(ctx context.Context, version inVersion, refused *decide.Refusal, newObj, oldObj runtime.Object) error {
	if refused.Reason == decide.Budget || refused.Reason == decide.Cost {
		metrics.OverBudget(ctx)
	}
	w.refusal = refused
	path, told := w.visibleTo(ctx, version, refused, newObj, oldObj)
	switch { // the audit log contains these verbs, even if the response must not
	case refused.General == "":
	case refused.General == refused.Specific && refused.Together == nil, refused.Specific == "":
		w.missing = []string{refused.General}
	case len(refused.Together) > 0:
		w.missing = []string{audit.Together(refused.Together)}
		if !slices.Contains(refused.Together, refused.General) {
			w.missing = append(w.missing, refused.General)
		}
	default:
		w.missing = []string{refused.Specific, refused.General}
	}
	why := refusal.Details{Needs: told.Needs(), FieldPermission: w.source(refused), Derived: version.derived,
		Removed: !version.derived && w.removes(version, refused, told, newObj, oldObj)}
	why.Verbs, why.Together = told.Missing()
	return w.boundedForbidden(newObj, func(l redact.Limits) (string, refusal.Details) {
		why.Field = change.Shorten(path, l.Path)
		source := why.Cause()
		if why.FieldPermission != "" {
			source += fmt.Sprintf(" (excluded by FieldPermission %s)", why.FieldPermission)
		}
		return fmt.Sprintf("%s%s%s: %s%s", told.Cannot(why.Field), version.shown, w.where(l), why.Needs, source), why
	})
}

// visibleTo returns the path of the refused change, and the refusal, as the caller is allowed to
// see them. If the caller may not get the object, they contain no key that the caller did not
// send, and do not depend on such a key.
func (w *write) visibleTo(ctx context.Context, version inVersion, refusal *decide.Refusal, newObj, oldObj runtime.Object) (string, *decide.Refusal) {
	c := refusal.Change
	switch {
	case version.kind == w.kind && w.tampered && c.Path().String() == w.managedFieldsPath():
		// The caller edited managed fields. Their exact path can't be found in newObj, which has
		// the managed fields that the server made, not those that the caller sent.
		return ".metadata.managedFields", refusal
	case version.kind == w.kind && w.scale.isReplicas(c):
		return ".spec.replicas", refusal
	}
	located := func() string { return version.kind.locate(version.target, c, newObj, oldObj, (*change.Walker).Locate) }
	if !w.marked {
		return located(), refusal
	}
	known, all := w.sender(version).Knows(&c)
	outline := version.kind.locate(version.target, c, newObj, oldObj, func(walker *change.Walker, c change.Change, old, new any) string {
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

// refuseAll is the Write, or the Operation, for a request that can't be verified, for example because
// its context lacks the attributes that authorization needs. It refuses the request with err, or
// with a 500 if err is no error of the API.
type refuseAll struct {
	err error
}

func (r refuseAll) refusal() error {
	var status apierrors.APIStatus
	if errors.As(r.err, &status) {
		return r.err
	}
	return apierrors.NewInternalError(r.err)
}

func (r refuseAll) Patch(context.Context, types.PatchType, []byte) error {
	return r.refusal()
}

func (r refuseAll) Submitted(context.Context, runtime.Object, runtime.Object) error {
	return r.refusal()
}

func (r refuseAll) Observe(context.Context, runtime.Object, runtime.Object) error {
	return r.refusal()
}

func (r refuseAll) Admitted(context.Context, runtime.Object, runtime.Object) error {
	return r.refusal()
}

func (r refuseAll) Verify(context.Context, runtime.Object, runtime.Object) error {
	return r.refusal()
}

func (r refuseAll) Changed(context.Context, runtime.Object, runtime.Object) error {
	return r.refusal()
}

func (r refuseAll) Respond(context.Context, runtime.Object) runtime.Object {
	return &metav1.Status{}
}

func (r refuseAll) RespondError(_ context.Context, err error) error {
	return err
}
