// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"

	upstream "k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/granular"
	"k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/klog/v2"

	"kube-granular.dev/granular/permission"
	"kube-granular.dev/pkg/audit"
	"kube-granular.dev/pkg/rbacindex"
)

// Gate wraps the configured authorizer and adds the verification of single fields. It decides
// everything else as the configured authorizer does. It implements granular.Gate.
type Gate struct {
	upstream.Authorizer
	// protection provides the protected attributes: labels and annotations that only certain
	// callers may change. It is nil if this feature is off.
	protection Protection
	// withoutFields is set if the Gate verifies only protected attributes, and no permissions of
	// fields.
	withoutFields bool
}

var (
	_ granular.Gate       = &Gate{}
	_ upstream.Authorizer = &Gate{}
)

// New returns a Gate that wraps the configured authorizer.
func New(configured upstream.Authorizer, options ...Option) *Gate {
	g := &Gate{Authorizer: configured}
	for _, o := range options {
		o(g)
	}
	return g
}

// mayBeGranular reports whether a request is a write whose fields can be verified. Any other
// request, such as a deletion, a connection or a read, needs the ordinary verb.
func mayBeGranular(a upstream.Attributes) bool {
	if !a.IsResourceRequest() {
		return false
	}
	switch a.GetVerb() {
	case "create", "update", "patch":
		return true
	}
	return false
}

// Authorize asks the configured authorizer. If the request is a write whose fields can be
// verified, Authorize makes RBAC read only the bindings of the caller, as Fallback does.
// Otherwise the cost of refusing the ordinary verb would grow with the number of all bindings.
func (g *Gate) Authorize(ctx context.Context, a upstream.Attributes) (upstream.Decision, string, error) {
	if !g.withoutFields && mayBeGranular(a) {
		ctx = rbacindex.For(ctx, a)
	}
	return g.Authorizer.Authorize(ctx, a)
}

// Fallback asks the configured authorizer whether the caller holds the verb "granular" for the
// same resource, subresource and name (KEP-3617, "API Server Additional Plumbing and Checks",
// step 2). It is called only if the configured authorizer returned NoOpinion for the ordinary
// verb: an explicit Deny is final.
func (g *Gate) Fallback(ctx context.Context, a upstream.Attributes) (context.Context, upstream.Decision, string, error) {
	if g.withoutFields || !mayBeGranular(a) {
		return ctx, upstream.DecisionNoOpinion, "", nil
	}
	asking, query := rbacindex.ForSeveral(ctx, a)
	decision, reason, err := ask(asking, g.Authorizer, a, permission.General)
	if decision != upstream.DecisionAllow {
		return ctx, upstream.DecisionNoOpinion, "", unanswered(ctx, a, err)
	}
	marked, _ := granular.WithMarker(withFilterState(ctx, a, query))
	audit.Marked(marked)
	return marked, decision, reason, nil
}

// unanswered logs an error of the authorizer, and returns the error that the caller sees in its
// place.
func unanswered(ctx context.Context, a upstream.Attributes, err error) error {
	if err == nil {
		return nil
	}
	klog.FromContext(ctx).Error(err, "Unable to check whether the caller may write single fields",
		"verb", a.GetVerb(), "group", a.GetAPIGroup(), "resource", a.GetResource(), "subresource", a.GetSubresource(), "object", klog.KRef(a.GetNamespace(), a.GetName()))
	return errUnanswered
}

// Begin starts the verification of one write. It returns nil if nothing needs to be verified: the
// caller holds the ordinary verb, the kind has no excluded permission (one that the ordinary verb
// does not include), and none of its labels and annotations is protected.
func (g *Gate) Begin(ctx context.Context, target granular.Target) granular.Write {
	marker := granular.MarkerFrom(ctx)
	labels, err := g.protect(ctx, target, marker != nil)
	if err != nil {
		return refuseAll{err: err}
	}
	if marker == nil && (g.withoutFields || nothingToCheck(target)) {
		if labels == nil {
			return nil
		}
		return &guarded{labels: labels}
	}
	fields, err := g.begin(ctx, target, marker)
	switch {
	case err != nil:
		return refuseAll{err: err}
	case labels == nil:
		return fields
	}
	return &guarded{labels: labels, fields: fields}
}

// begin starts the verification of fields. If the request is marked, all changed fields are
// verified. Otherwise only those with an excluded permission are.
func (g *Gate) begin(ctx context.Context, target granular.Target, marker *granular.Marker) (*write, error) {
	kind := kindOf(target)
	if passed := filterStateFrom(ctx); passed != nil {
		w := newWrite(ctx, g, target, kind, passed.attributes, marker)
		w.query, w.warnings = passed.query, passed.warnings
		w.warnings.Hold()
		return w, nil
	}
	attributes, err := filters.GetAuthorizerAttributes(ctx)
	if err != nil {
		return nil, err
	}
	return newWrite(ctx, g, target, kind, attributes, marker), nil
}

// FallbackCreate asks the configured authorizer whether the caller holds the verb "granular" for
// the create that an update or patch of a missing object implies. If the caller holds the verb
// update, begun observed only some fields. Then everything that is stored counts as the caller's
// change. The observed changes of labels and annotations are kept.
func (g *Gate) FallbackCreate(ctx context.Context, target granular.Target, begun granular.Write, a upstream.Attributes) (granular.Write, upstream.Decision, string, error) {
	if g.withoutFields || !mayBeGranular(a) {
		return nil, upstream.DecisionNoOpinion, "", nil
	}
	decision, reason, err := ask(rbacindex.For(ctx, a), g.Authorizer, a, permission.General)
	w, labels := partsOf(begun)
	if decision != upstream.DecisionAllow {
		if w != nil {
			w.createRefused.Store(true)
		}
		return nil, upstream.DecisionNoOpinion, "", unanswered(ctx, a, err)
	}
	if w != nil && w.marked {
		return begun, decision, reason, nil
	}
	if labels == nil { // some may have become protected since Begin
		if labels, err = g.protect(ctx, target, true); err != nil {
			return nil, upstream.DecisionNoOpinion, "", err
		}
	}
	audit.Marked(ctx)
	create := newWrite(ctx, g, target, kindOf(target), a, nil)
	create.marked = true
	create.unanswered = true
	if w != nil {
		create.patch = w.patch
		create.decider.Continue(&w.decider)
	}
	if labels == nil {
		return create, decision, reason, nil
	}
	return &guarded{labels: labels, fields: create}, decision, reason, nil
}

// partsOf returns the two parts of a Write: the write that verifies fields, and the protected
// that verifies labels and annotations. Either may be nil.
func partsOf(begun granular.Write) (*write, *protected) {
	switch w := begun.(type) {
	case *write:
		return w, nil
	case *guarded:
		return w.fields, w.labels
	}
	return nil, nil
}
