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
	"kube-granular.dev/pkg/refusal"
)

// protected verifies the protected labels and annotations that one write changes: those that only
// admitted callers are allowed to change. Package protect decides which are protected and who is
// admitted. If an administrator changes the protection during the request, the request still uses
// what was protected when the request was first checked.
type protected struct {
	requestInfo
	gate *Gate
	kind *kind
	// resource is the resource of the request, as package protect describes it.
	resource *protect.Target
	// decider and kinds are set when it is known which labels and annotations are protected. kinds
	// tells whether labels, annotations or both are among them. While decider is nil, all labels
	// and annotations are compared.
	decider *protect.Decider
	kinds   schema.Attribute

	observation[change.Attributes]
	// bypass is true if the caller is allowed to bypass the protection. The pointer is nil until
	// the authorizer decided that.
	bypass *bool
	// readable is true if the caller is allowed to get the object. The pointer is nil until the
	// authorizer was asked, and always for a granular request.
	readable *bool
	// outcome is the result of the latest attempt. It is atomic, because if a request takes too
	// long, the server responds while the request is still running.
	outcome atomic.Pointer[outcome]
}

// outcome is the result of verifying the labels and annotations in one attempt.
type outcome struct {
	err error
	// missing lists roles and verbs for a refused change. If the caller held one of them, the
	// change would have been admitted.
	missing []string
	// findings are the changes that are allowed only because the mode of the protection is Audit.
	// In mode Enforce they would be refused.
	findings []protect.Finding
	// hidden is the number of findings, at the end, whose keys the caller must not learn.
	hidden int
}

// judgeBy makes the request use the given set of protected attributes. It reports whether some of
// them can apply to the object of the request.
func (p *protected) judgeBy(set *protect.Set) bool {
	namespace := p.attributes.GetNamespace()
	p.kinds = set.Active(namespace, p.resource)
	if p.kinds == 0 {
		return false
	}
	p.decider = protect.NewDecider(set, namespace, p.resource, p, 0)
	return true
}

// observe finds and keeps the caller's own change of labels and annotations, before mutating
// admission changes the object. If the objects can't be compared, verify refuses the write later.
func (p *protected) observe(newObj, oldObj runtime.Object) {
	p.keep(p.differing(newObj, oldObj))
}

// differing returns the labels and annotations that differ between two objects. If it is known
// which keys are protected, it returns only those that can be protected.
func (p *protected) differing(newObj, oldObj runtime.Object) (change.Attributes, error) {
	if p.decider == nil {
		return p.kind.attributes(p.target, schema.Label|schema.Annotation, nil, newObj, oldObj)
	}
	return p.kind.attributes(p.target, p.kinds, p.decider, newObj, oldObj)
}

// verify verifies the labels and annotations of newObj, which is about to be stored. fields is the
// part of the Write that verifies the permissions of fields, nil if there is no such part.
func (p *protected) verify(ctx context.Context, fields *write, newObj, oldObj runtime.Object) error {
	o := &outcome{}
	if !p.known || len(p.observed) > 0 {
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
	if changed = p.intersect(changed, change.IntersectAttributes); len(changed) == 0 {
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
	var more []protect.Finding
	last := false // whether the refusal is of an unknown change
	if refusal == nil && err == nil && len(unknown) > 0 {
		refusal, more, err = p.decider.Decide(ctx, unknown)
		findings, last = append(findings, more...), true
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
	case refusal != nil: // without a refusal an error of the check of the bypass has no effect
		err = bypassErr
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return p.undecided(ended())
	case err != nil:
		return p.undecided(p.failed(ctx, newObj, err))
	case refusal != nil:
		metrics.ProtectedAttributes(metrics.Refused)
		return p.refused(newObj, refusal, last && !p.mayGet(ctx, fields))
	}
	metrics.ProtectedAttributes(metrics.Audited)
	hidden := len(more)
	if hidden > 0 && p.mayGet(ctx, fields) {
		hidden = 0
	}
	return &outcome{findings: findings, hidden: hidden}
}

func (p *protected) undecided(err error) *outcome {
	metrics.ProtectedAttributes(metrics.Error)
	return &outcome{err: err}
}

// errNotKnown is the message for a write that changes labels or annotations while the server does
// not know yet which of them are protected.
const errNotKnown = "it is not known yet which labels and annotations are protected, so none can be changed"

// wait waits until the server has read which labels and annotations are protected. It reports
// whether some protected attributes can apply to the object of the request. If the server has not
// read them in time, the error is a 503.
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

// refused returns the outcome with the 403 for a change that is not admitted. The error contains
// the name of the object, the path and the key of the label or annotation, and the roles or verbs
// that would have admitted the caller. It never contains a value. If hide is set, the caller must
// not learn the key, and the error contains neither the key nor the roles and verbs.
func (p *protected) refused(newObj runtime.Object, refused *protect.Refusal, hide bool) *outcome {
	o := &outcome{}
	for _, r := range refused.References {
		o.missing = append(o.missing, referenceID(r))
	}
	place, needs := refused.Attribute.String(), refused.Needs()
	if hide {
		attribute := refused.Attribute
		attribute.Unreadable = true // so that the path ends before the key
		place, needs = attribute.Outline(), "its key is not shown, because the request does not name it"
	}
	why := refusal.Details{Needs: needs, Protected: kindName(refused.Attribute.Kind)}
	if !hide {
		for _, r := range refused.References {
			why.ProtectedNamespace = refused.Namespace
			if r.Kind == protect.Verb {
				why.Verbs = append(why.Verbs, r.Name)
			} else {
				why.Roles = append(why.Roles, referenceID(r))
			}
		}
	}
	o.err = p.boundedForbidden(newObj, func(l redact.Limits) (string, refusal.Details) {
		why.Field = change.Shorten(place, l.Path)
		return fmt.Sprintf("cannot change %s%s, a protected %s: %s", why.Field, p.where(l), why.Protected, needs), why
	})
	return o
}

func kindName(kind schema.Attribute) string {
	if kind == schema.Annotation {
		return "annotation"
	}
	return "label"
}
