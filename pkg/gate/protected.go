// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"fmt"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/protect"
	"kube-granular.dev/granular/schema"
	"kube-granular.dev/pkg/gate/redact"
	"kube-granular.dev/pkg/metrics"
)

// protected verifies the protected labels and annotations that one write changes: those that only
// admitted callers may change. Package protect decides which are protected and who is admitted.
// The same set of protected attributes is used for the whole request, retries included.
type protected struct {
	requestInfo
	gate *Gate
	kind *kind
	// resource is the target of the request in package protect.
	resource *protect.Target
	// decider and kinds are set once it is known which attributes are protected. Until then
	// decider is nil, and all labels and annotations are compared.
	decider *protect.Decider
	kinds   schema.Attribute

	// observed is the caller's change in the current attempt. If everything is set, the caller's
	// change is not known, and everything that is about to be stored counts as the caller's.
	observed   change.Attributes
	everything bool
	// bypass is whether the caller may bypass the protection. It is nil until the authorizer
	// decided that.
	bypass *bool
	// outcome is the result of the latest attempt. It is atomic, because a request that took too
	// long is answered while it is still running.
	outcome atomic.Pointer[outcome]
}

// outcome is the result of verifying the labels and annotations in one attempt.
type outcome struct {
	err error
	// missing lists roles and verbs. Any one of them would have satisfied the protected
	// attributes that refused the change.
	missing []string
	// findings are the changes that would be refused if all attributes were enforced.
	findings []protect.Finding
}

// judgeBy sets the protected attributes for the request. It reports whether an object of the
// request may have any of them.
func (p *protected) judgeBy(set *protect.Set) bool {
	namespace := p.attributes.GetNamespace()
	p.kinds = set.Active(namespace, p.resource)
	if p.kinds == 0 {
		return false
	}
	p.decider = protect.NewDecider(set, namespace, p.resource, p, 0)
	return true
}

// observe records the caller's change. If the objects can't be compared, verify refuses the write
// later.
func (p *protected) observe(newObj, oldObj runtime.Object) {
	observed, err := p.differing(newObj, oldObj)
	p.observed, p.everything = observed, err != nil
}

// differing returns the labels and annotations that differ and may be protected.
func (p *protected) differing(newObj, oldObj runtime.Object) (change.Attributes, error) {
	if p.decider == nil {
		return p.kind.attributes(p.target, schema.Label|schema.Annotation, nil, newObj, oldObj)
	}
	return p.kind.attributes(p.target, p.kinds, p.decider, newObj, oldObj)
}

// verify verifies what is about to be stored. fields verifies the other fields of a granular
// request; it is nil for any other request.
func (p *protected) verify(ctx context.Context, fields *write, newObj, oldObj runtime.Object) error {
	o := &outcome{}
	if p.everything || len(p.observed) > 0 {
		o = p.judge(ctx, fields, newObj, oldObj)
	}
	p.outcome.Store(o)
	return o.err
}

func (p *protected) judge(ctx context.Context, fields *write, newObj, oldObj runtime.Object) *outcome {
	changed, err := p.differing(newObj, oldObj)
	if err != nil {
		return p.undecided(p.forbidden(newObj, fmt.Errorf("its labels and annotations can't be compared: %w", err)))
	}
	if !p.everything {
		changed = change.IntersectAttributes(p.observed, changed)
	}
	if len(changed) == 0 {
		return &outcome{}
	}
	if p.decider == nil {
		switch active, err := p.wait(ctx); {
		case err != nil:
			return p.undecided(err)
		case !active:
			return &outcome{}
		}
	}
	known, unknown := p.knownFirst(ctx, fields, changed)
	refusal, findings, err := p.decider.Decide(ctx, known)
	hide := false
	if refusal == nil && err == nil && len(unknown) > 0 {
		var more []protect.Finding
		refusal, more, err = p.decider.Decide(ctx, unknown)
		findings, hide = append(findings, more...), true
	}
	if err == nil && refusal == nil && len(findings) == 0 {
		metrics.ProtectedAttributes(metrics.Admitted)
		return &outcome{}
	}
	bypasses, bypassErr := p.bypasses(ctx)
	switch {
	case bypasses:
		metrics.ProtectedAttributes(metrics.Bypassed)
		return &outcome{}
	case refusal != nil: // only then does it matter that the check of the bypass failed
		err = bypassErr
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return p.undecided(ended())
	case err != nil:
		return p.undecided(p.failed(ctx, newObj, err))
	case refusal != nil:
		metrics.ProtectedAttributes(metrics.Refused)
		return p.refused(newObj, refusal, hide)
	}
	metrics.ProtectedAttributes(metrics.Audited)
	return &outcome{findings: findings}
}

func (p *protected) undecided(err error) *outcome {
	metrics.ProtectedAttributes(metrics.Error)
	return &outcome{err: err}
}

// errNotKnown is the message for a write that changes labels or annotations while the server does
// not know yet which of them are protected.
const errNotKnown = "it is not known yet which labels and annotations are protected, so none can be changed"

// wait waits until the protected attributes are known, and reports whether any of them applies to
// the request.
func (p *protected) wait(ctx context.Context) (active bool, err error) {
	err = p.gate.protection.Wait(ctx)
	set, synced := p.gate.protection.Set()
	switch {
	case synced:
		return p.judgeBy(set), nil
	case err != nil && ctx.Err() != nil:
		return false, ended()
	}
	unavailable := apierrors.NewServiceUnavailable(errNotKnown)
	unavailable.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: 1}
	return false, unavailable
}

// refused returns the outcome with the 403 for a change that is not admitted. The error names the
// object, the path and the key, and what would have admitted the caller. It never contains a
// value. If hide is set, the caller must not learn the key, and the error does not name it.
func (p *protected) refused(newObj runtime.Object, refusal *protect.Refusal, hide bool) *outcome {
	o := &outcome{}
	for _, r := range refusal.References {
		o.missing = append(o.missing, referenceID(r))
	}
	place, needs := refusal.Attribute.String(), refusal.Needs()
	if hide {
		at := refusal.Attribute
		at.Unreadable = true // so that the path ends before the key
		place, needs = at.Outline(), "its key is not shown, because the request does not name it"
	}
	o.err = p.boundedForbidden(newObj, func(l redact.Limits) (string, metav1.StatusCause) {
		place := change.Shorten(place, l.Path)
		cause := metav1.StatusCause{Type: metav1.CauseTypeForbidden, Field: place}
		if l.Causes {
			cause.Message = needs
		}
		return fmt.Sprintf("cannot change %s%s, a protected %s: %s", place, p.where(l), kindName(refusal.Attribute.Kind), needs), cause
	})
	return o
}

func kindName(kind schema.Attribute) string {
	if kind == schema.Annotation {
		return "annotation"
	}
	return "label"
}
