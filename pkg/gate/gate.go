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
	// fields provides the entries of FieldPermissions. It is nil if there are none.
	fields FieldPermissions
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

// Authorize asks the configured authorizer. It makes RBAC read only the bindings of the caller. If RBAC
// read all bindings, each check would take longer with every binding in the cluster: those of a request,
// whatever its verb, and those that a request causes, such as that of the verb bind.
func (g *Gate) Authorize(ctx context.Context, a upstream.Attributes) (upstream.Decision, string, error) {
	if !g.withoutFields {
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
		"verb", a.GetVerb(), "group", a.GetAPIGroup(), "resource", a.GetResource(), "subresource", a.GetSubresource(),
		"object", klog.KRef(a.GetNamespace(), a.GetName()))
	return errUnanswered
}

// Begin starts the verification of one write. It returns nil if nothing needs to be verified.
// That is so if all of this is true: the caller holds the ordinary verb, the kind has no excluded
// permission (one that the ordinary verb does not include), and no protected label or annotation
// needs to be verified.
func (g *Gate) Begin(ctx context.Context, target granular.Target) granular.Write {
	marker := granular.MarkerFrom(ctx)
	added, err := g.entriesFor(ctx, target)
	if err != nil {
		return refuseAll{err: err}
	}
	w := g.beginWith(ctx, target, added, marker)
	if marker == nil && added.audits() {
		return g.beginAudit(ctx, target, added, w)
	}
	return w
}

// beginWith is Begin with the entries that are in force for the request.
func (g *Gate) beginWith(ctx context.Context, target granular.Target, added entrySet, marker *granular.Marker) granular.Write {
	found := knownKind{added: added}
	labels, err := g.protect(ctx, target, &found, marker != nil)
	if err != nil {
		return refuseAll{err: err}
	}
	if marker == nil && (g.withoutFields || nothingToCheck(target, &found)) {
		if labels == nil {
			return nil
		}
		return &guarded{labels: labels}
	}
	fields, err := g.begin(ctx, target, found.find(target), marker)
	if err != nil {
		return refuseAll{err: err}
	}
	return join(labels, fields)
}

// begin starts the verification of fields by their permissions. marker is set if the caller lacks
// the ordinary verb; then all changed fields are verified. If marker is nil, only changed fields
// with an excluded permission are verified.
func (g *Gate) begin(ctx context.Context, target granular.Target, kind *kind, marker *granular.Marker) (*write, error) {
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

// AuthorizeCreate authorizes the create that an update or patch of a missing object implies. begun
// is the Write that Begin returned for the update or patch. If the create is allowed,
// AuthorizeCreate returns the Write that verifies it:
//
//	create, by the authorizer     update or patch   what the Write verifies
//	allowed                       allowed           what begun does
//	allowed                       granular          what it would verify for a create by POST
//	no opinion, but "granular"    granular          all fields of the caller, as begun does
//	no opinion, but "granular"    allowed           all fields that are to be stored
//
// A Deny is final. In the last case begun has compared only fields with excluded permissions, or
// is nil. The changes of labels and annotations that begun has observed are kept in every case.
func (g *Gate) AuthorizeCreate(
	ctx context.Context, target granular.Target, begun granular.Write, a upstream.Attributes,
) (granular.Write, upstream.Decision, string, error) {
	if audited, ok := begun.(*auditedWrite); ok {
		inner, decision, reason, err := g.AuthorizeCreate(ctx, target, audited.inner, a)
		return audited.with(inner, decision == upstream.DecisionAllow), decision, reason, err
	}
	decision, reason, err := g.Authorize(ctx, a)
	fields, labels := partsOf(begun)
	switch {
	case decision == upstream.DecisionAllow && fields != nil && fields.create != nil:
		return join(labels, fields.create), decision, reason, err
	case decision == upstream.DecisionAllow:
		return begun, decision, reason, err
	case decision != upstream.DecisionNoOpinion || err != nil:
		return nil, decision, reason, err
	}
	create, decision, granularReason, err := g.fallbackCreate(ctx, target, begun, a)
	if decision != upstream.DecisionAllow {
		return nil, upstream.DecisionNoOpinion, reason, err
	}
	return create, decision, granularReason, nil
}

// fallbackCreate asks the configured authorizer whether the caller holds the verb "granular" for
// the create, and returns the Write that verifies it.
func (g *Gate) fallbackCreate(
	ctx context.Context, target granular.Target, begun granular.Write, a upstream.Attributes,
) (granular.Write, upstream.Decision, string, error) {
	if g.withoutFields || !mayBeGranular(a) {
		return nil, upstream.DecisionNoOpinion, "", nil
	}
	decision, reason, err := ask(rbacindex.For(ctx, a), g.Authorizer, a, permission.General)
	fields, labels := partsOf(begun)
	if decision != upstream.DecisionAllow {
		if fields != nil {
			fields.createRefused.Store(true)
		}
		return nil, upstream.DecisionNoOpinion, "", unanswered(ctx, a, err)
	}
	if fields != nil && fields.marked {
		return begun, decision, reason, nil
	}
	var found knownKind
	if fields != nil {
		found.kind = fields.kind
	} else if found.added, err = g.entriesFor(ctx, target); err != nil {
		return nil, upstream.DecisionNoOpinion, "", err
	}
	if labels == nil { // some may have become protected since Begin
		if labels, err = g.protect(ctx, target, &found, true); err != nil {
			return nil, upstream.DecisionNoOpinion, "", err
		}
	}
	audit.Marked(ctx)
	create := newWrite(ctx, g, target, found.find(target), a, nil)
	create.marked = true
	create.stored = storedOf(target, true, create.kind.added)
	create.unanswered = true
	if fields != nil {
		create.patch = fields.patch
		create.decider.Continue(&fields.decider)
	}
	return join(labels, create), decision, reason, nil
}

// join returns the Write with two parts, of which labels may be nil.
func join(labels *protected, fields *write) granular.Write {
	if labels == nil {
		return fields
	}
	return &guarded{labels: labels, fields: fields}
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
