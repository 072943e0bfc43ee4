// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"

	"k8s.io/apiserver/pkg/authentication/user"
	upstream "k8s.io/apiserver/pkg/authorization/authorizer"

	"kube-granular.dev/granular/protect"
	"kube-granular.dev/pkg/rbacindex"
)

var _ protect.Holder = &protected{}

// Holds implements protect.Holder. It reports whether the caller holds r, a role or a verb that
// admits callers to a protected label or annotation. For a role, the Gate's Protection finds out
// whether a binding of the role includes the caller. For a verb, the configured authorizer is
// asked whether the caller has this verb for the resource and the name of the request. In RBAC
// only a rule with exactly this verb or with "*" allows that.
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

// bypasses reports whether the caller is allowed to write all protected labels and annotations,
// because it holds the verb "bypass". Upstream's controllers hold it, because they copy templates
// that other callers wrote. bypasses asks the authorizer once for a request,
// and again only if the authorizer returned an error.
func (p *protected) bypasses(ctx context.Context) (bool, error) {
	if p.bypass != nil {
		return *p.bypass, nil
	}
	allowed, err := p.gate.bypasses(ctx, p.attributes.GetUser(), BypassResource, "")
	if allowed || err == nil {
		p.bypass = &allowed
		return allowed, nil
	}
	return false, err
}

// bypasses reports whether a user is allowed the verb "bypass" on a resource. A controller that acts
// under a delegation of a policy may also hold the verb itself, without the delegation.
func (g *Gate) bypasses(ctx context.Context, u user.Info, resource, name string) (bool, error) {
	allowed, err := g.mayBypass(ctx, u, resource, name)
	if !allowed && err == nil && g.byPolicy != nil {
		if self := g.byPolicy(ctx, u); self != nil {
			allowed, err = g.mayBypass(rbacindex.WithoutQuery(ctx), self, resource, name)
		}
	}
	return allowed, err
}

func (g *Gate) mayBypass(ctx context.Context, u user.Info, resource, name string) (bool, error) {
	a := &upstream.AttributesRecord{
		User: u, Verb: BypassVerb,
		APIGroup: BypassGroup, APIVersion: BypassVersion, Resource: resource, Name: name, ResourceRequest: true,
	}
	return allows(rbacindex.For(ctx, a), g.Authorizer, a, a.Verb)
}

// referenceID returns the text for the audit log that stands for r, something that would have
// admitted the caller. For a verb it is the verb. For a role it is the kind and the name, such as
// ClusterRole/NAME.
func referenceID(r protect.Reference) string {
	if r.Kind == protect.Verb {
		return r.Name
	}
	return r.Kind + "/" + r.Name
}
