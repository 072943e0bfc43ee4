// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"

	upstream "k8s.io/apiserver/pkg/authorization/authorizer"

	"kube-granular.dev/granular/protect"
	"kube-granular.dev/pkg/rbacindex"
)

var _ protect.Holder = &protected{}

// Holds implements protect.Holder. If r is a role, the Protection knows who is bound to it. If r
// is a verb, the configured authorizer is asked for that verb on the resource and the name of the
// request. In RBAC only a rule with this verb or with "*" allows it, because no permission
// includes the verb of a protected attribute.
func (p *protected) Holds(ctx context.Context, r protect.Reference) (bool, error) {
	if r.Kind == protect.Verb {
		return allows(rbacindex.For(ctx, p.attributes), p.gate.Authorizer, p.attributes, r.Name)
	}
	u := p.attributes.GetUser()
	if u == nil {
		return false, nil
	}
	return p.gate.protection.Holds(ctx, u, r)
}

// bypasses reports whether the caller may write protected attributes without being admitted.
// Upstream's controllers may, because they copy templates that other callers wrote. The
// authorizer is asked at most once for a request, unless it fails.
func (p *protected) bypasses(ctx context.Context) (bool, error) {
	if p.bypass != nil {
		return *p.bypass, nil
	}
	a := &upstream.AttributesRecord{
		User: p.attributes.GetUser(), Verb: BypassVerb,
		APIGroup: BypassGroup, APIVersion: BypassVersion, Resource: BypassResource, ResourceRequest: true,
	}
	allowed, err := allows(rbacindex.For(ctx, a), p.gate.Authorizer, a, a.Verb)
	if allowed || err == nil {
		p.bypass = &allowed
		return allowed, nil
	}
	return false, err
}

// referenceID returns the text for a reference in the audit log: a verb, or the kind and the name
// of a role.
func referenceID(r protect.Reference) string {
	if r.Kind == protect.Verb {
		return r.Name
	}
	return r.Kind + "/" + r.Name
}
