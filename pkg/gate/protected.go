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

// protected judges the labels and annotations that one write changes. What is protected, and
// who is admitted, is for package protect to say. The attributes in force are those of one
// moment for the whole request, retries included.
type protected struct {
	requestInfo
	gate *Gate
	kind *kind
	// resource is what the objects of the request are to package protect.
	resource *protect.Target
	// decider is nil, and kinds are all, until the attributes in force are known.
	decider *protect.Decider
	kinds   schema.Attribute

	// observed is the caller's own change in the attempt under way. With everything set, all
	// that is to be stored counts as the caller's.
	observed   change.Attributes
	everything bool
	// bypass is whether the caller may bypass what is protected, nil while nobody asked.
	bypass *bool
	// outcome is that of the latest attempt. A request that took too long is answered while
	// it is still under way.
	outcome atomic.Pointer[outcome]
}

// outcome is what became of the labels and annotations of one attempt.
type outcome struct {
	err error
	// missing is what would have admitted the change that was refused.
	missing []string
	// findings are what would have been refused if all attributes were enforced.
	findings []protect.Finding
}

// judgeBy takes the attributes that are in force from now on. It reports whether any of
// them may be in an object of the request.
func (p *protected) judgeBy(set *protect.Set) bool {
	namespace := p.attributes.GetNamespace()
	p.kinds = set.Active(namespace, p.resource)
	if p.kinds == 0 {
		return false
	}
	p.decider = protect.NewDecider(set, namespace, p.resource, p, 0)
	return true
}

// observe sees the caller's change. What can't be compared is no verdict yet.
func (p *protected) observe(newObj, oldObj runtime.Object) {
	observed, err := p.differing(newObj, oldObj)
	p.observed, p.everything = observed, err != nil
}

// differing returns which of the attributes of interest differ.
func (p *protected) differing(newObj, oldObj runtime.Object) (change.Attributes, error) {
	if p.decider == nil {
		return p.kind.attributes(p.target, schema.Label|schema.Annotation, nil, newObj, oldObj)
	}
	return p.kind.attributes(p.target, p.kinds, p.decider, newObj, oldObj)
}

// verify judges what is about to be stored. fields is what judges the other fields of a
// granular request, nil otherwise.
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
	case refusal != nil: // else nothing is refused for want of an answer
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

// errNotKnown is what a write comes to that changes labels or annotations before it is known
// which are protected.
const errNotKnown = "it is not known yet which labels and annotations are protected, so none can be changed"

// wait waits until the attributes in force are known, and reports whether any is.
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

// refused builds the 403 of a change that is not admitted: the object, the place and the
// key, and what would have admitted it. It never holds a value. With hide the caller may
// not be told the key.
func (p *protected) refused(newObj runtime.Object, refusal *protect.Refusal, hide bool) *outcome {
	o := &outcome{}
	for _, r := range refusal.References {
		o.missing = append(o.missing, referenceID(r))
	}
	place, needs := refusal.Attribute.String(), refusal.Needs()
	if hide {
		at := refusal.Attribute
		at.Unreadable = true // which has no key
		place, needs = at.Outline(), "the request does not name its key"
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
