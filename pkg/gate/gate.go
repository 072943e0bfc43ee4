// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"

	"k8s.io/apiserver/pkg/authentication/user"
	upstream "k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/granular"
	"k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/klog/v2"

	"kube-granular.dev/granular/permission"
	"kube-granular.dev/pkg/audit"
	"kube-granular.dev/pkg/rbacindex"
)

// Gate wraps the configured authorizer and adds the verification of single fields. Every other
// decision is that of the configured authorizer. Gate implements granular.Gate.
type Gate struct {
	upstream.Authorizer
	// protection provides the protected attributes: labels and annotations that only certain
	// callers are allowed to change. It is nil if the feature gate ProtectedAttributes is off.
	protection Protection
	// byPolicy finds out who acts under a delegation that a policy issued; see WithDelegates. It is
	// nil if there are no delegations.
	byPolicy func(ctx context.Context, u user.Info) user.Info
	// withoutFields is set if the Gate verifies only changes of protected attributes, and checks
	// no permissions for fields.
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

// mayBeGranular reports whether a request is a create, update or patch of a resource. Only in
// these requests can single fields be verified. All others, such as deletions and reads, are left
// to the configured authorizer alone.
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

// Authorize asks the configured authorizer. For a create, update or patch it makes RBAC read only
// the bindings of the caller. Such a request is often refused the ordinary verb before its fields
// are verified. If RBAC read all bindings, each refusal would take longer with every binding in
// the cluster.
func (g *Gate) Authorize(ctx context.Context, a upstream.Attributes) (upstream.Decision, string, error) {
	if !g.withoutFields && mayBeGranular(a) {
		ctx = rbacindex.For(ctx, a)
	}
	return g.Authorizer.Authorize(ctx, a)
}

// Fallback asks the configured authorizer whether the caller holds the verb "granular" for the
// resource, subresource and name of the request (KEP-3617, "API Server Additional Plumbing and
// Checks", step 2). If so, it returns Allow and a context that marks the request: all fields that
// the request changes must then be verified. The server calls Fallback only if the authorizer
// returned NoOpinion for the ordinary verb. A Deny is final.
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

// unanswered logs err, an error of the authorizer, and returns a general error that the caller
// sees instead. It returns nil if err is nil.
func unanswered(ctx context.Context, a upstream.Attributes, err error) error {
	if err == nil {
		return nil
	}
	klog.FromContext(ctx).Error(err, "Unable to check whether the caller may write single fields",
		"verb", a.GetVerb(), "group", a.GetAPIGroup(), "resource", a.GetResource(), "subresource", a.GetSubresource(), "object", klog.KRef(a.GetNamespace(), a.GetName()))
	return errUnanswered
}

// Begin starts the verification of one write. It returns nil if nothing needs to be verified.
// That is so if all of this is true: the caller holds the ordinary verb, the kind has no excluded
// permission (one that the ordinary verb does not include), and no protected label or annotation
// needs to be verified.
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

// begin starts the verification of fields by their permissions. marker is set if the caller lacks
// the ordinary verb; then all changed fields are verified. If marker is nil, only changed fields
// with an excluded permission are verified.
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
// the create that an update or patch of a missing object implies. If so, it returns the Write that
// verifies the fields of the new object. begun is the Write that Begin returned for the update or
// patch.
//
// If the update or patch was granular itself, FallbackCreate returns begun. If the caller holds
// the ordinary verb, begun has compared only fields with excluded permissions, or is nil. Then
// the result is a new Write, for which everything that is stored counts as the caller's change.
// The changes of labels and annotations that begun has observed are kept.
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

// partsOf returns the two parts of a Write that Begin returned: the part that verifies fields by
// their permissions, and the part that verifies protected labels and annotations. Each of them is
// nil if the Write does not have it.
func partsOf(begun granular.Write) (*write, *protected) {
	switch w := begun.(type) {
	case *write:
		return w, nil
	case *guarded:
		return w.fields, w.labels
	}
	return nil, nil
}
