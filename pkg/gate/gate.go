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

// Gate is the configured authorizer, which answers everything it did before, and
// the judge of single fields. It implements the port granular.Gate.
type Gate struct {
	upstream.Authorizer
	// protection is nil where there are no protected attributes.
	protection Protection
	// withoutFields is set where only what is protected is judged.
	withoutFields bool
}

var (
	_ granular.Gate       = &Gate{}
	_ upstream.Authorizer = &Gate{}
)

// New puts the Gate around the configured authorizer.
func New(configured upstream.Authorizer, options ...Option) *Gate {
	g := &Gate{Authorizer: configured}
	for _, o := range options {
		o(g)
	}
	return g
}

// mayBeGranular says whether a request is of the kind whose fields can be judged.
// Everything else, deletions, connections and reads among them, never gets past
// the ordinary verb.
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

// Authorize asks the configured authorizer. Of a write whose fields could be judged RBAC
// looks at the caller's bindings alone, as it does for what Fallback goes on to ask:
// otherwise it is the refused ordinary verb that grows with everybody's bindings.
func (g *Gate) Authorize(ctx context.Context, a upstream.Attributes) (upstream.Decision, string, error) {
	if !g.withoutFields && mayBeGranular(a) {
		ctx = rbacindex.For(ctx, a)
	}
	return g.Authorizer.Authorize(ctx, a)
}

// Fallback asks the verb "granular" for the same resource, subresource and name
// (KEP-3617, "API Server Additional Plumbing and Checks", step 2). Only NoOpinion
// of the configured authorizer leads here: an explicit Deny is final.
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

// unanswered logs what the authorizer failed with, if it did, and returns what its caller
// may see of that.
func unanswered(ctx context.Context, a upstream.Attributes, err error) error {
	if err == nil {
		return nil
	}
	klog.FromContext(ctx).Error(err, "Unable to ask whether single fields may be written",
		"verb", a.GetVerb(), "group", a.GetAPIGroup(), "resource", a.GetResource(), "subresource", a.GetSubresource(), "object", klog.KRef(a.GetNamespace(), a.GetName()))
	return errUnanswered
}

// Begin starts the verification of one write. For a caller who holds the ordinary
// verb, and a kind without excluded permissions of which nothing is protected, that is
// nothing at all.
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

// begin starts the verification of all fields, or of those with excluded permissions.
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

// FallbackCreate asks the verb "granular" for the create that an update or patch
// of a missing object implies. Its caller may hold update, so no observation of
// every field took place: then all that is to be stored is the caller's change.
// What was observed of its labels and annotations is kept.
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
	if labels == nil { // attributes may have come into force
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

// partsOf returns what judges the fields of a write, and its labels and annotations.
func partsOf(begun granular.Write) (*write, *protected) {
	switch w := begun.(type) {
	case *write:
		return w, nil
	case *guarded:
		return w.fields, w.labels
	}
	return nil, nil
}
