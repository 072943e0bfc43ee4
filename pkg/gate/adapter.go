// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"slices"

	"k8s.io/apiserver/pkg/authentication/user"
	upstream "k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/granular"
)

// verbAttributes are the attributes of a request, with another verb. The resource, subresource,
// name and user are those of the request, so the verb of a permission need not name a kind.
type verbAttributes struct {
	upstream.Attributes
	verb string
}

func withVerb(a upstream.Attributes, verb string) verbAttributes {
	if v, ok := a.(verbAttributes); ok {
		a = v.Attributes
	}
	return verbAttributes{Attributes: a, verb: verb}
}

func (a verbAttributes) GetVerb() string  { return a.verb }
func (a verbAttributes) IsReadOnly() bool { return a.verb == "get" }

// unexplained are verbAttributes for which the authorizer need not return a reason. RBAC takes
// longer to write the reason than to decide.
type unexplained struct {
	verbAttributes
}

var _ granular.Unexplained = unexplained{}

func (unexplained) Unexplained() {}

// ask asks the authorizer whether it allows the request with another verb. If ctx is a context of
// package rbacindex, RBAC reads only bindings that may include the caller, and only rules about
// the resource.
func ask(ctx context.Context, authorizer upstream.Authorizer, a upstream.Attributes, verb string) (upstream.Decision, string, error) {
	return authorizer.Authorize(ctx, withVerb(a, verb))
}

// allows reports whether the authorizer allows the request with another verb. It is cheaper than
// ask, because the authorizer need not return a reason.
func allows(ctx context.Context, authorizer upstream.Authorizer, a upstream.Attributes, verb string) (bool, error) {
	decision, _, err := authorizer.Authorize(ctx, unexplained{withVerb(a, verb)})
	return decision == upstream.DecisionAllow, err
}

// authorizerAdapter implements decide.Authorizer with the configured authorizer.
//
// For every check RBAC reads all bindings of the caller. So to check more than a few verbs, the
// adapter reads the rules of the caller once, and looks the verbs up in them. The rules only save
// checks: the authorizer must still allow a verb that the rules allow. If the rules may be
// incomplete, the adapter asks the authorizer about one verb at a time.
type authorizerAdapter struct {
	authorizer upstream.Authorizer
	attributes upstream.Attributes

	// rulesRead is set after the first attempt to read the rules of the caller. complete is set
	// if that attempt returned all of them.
	rulesRead bool
	complete  bool
	// verbs has one element for each of the caller's rules about the object: the verbs of that
	// rule.
	verbs [][]string
	// calls counts the calls of the authorizer, including the one for the rules.
	calls int
}

// FirstAllowed returns the index of the first verb that is allowed, or -1. If the authorizer
// returns Deny or an error for a verb, a later and more specific verb may still be allowed. An
// error that comes with Allow is ignored, as in the filter WithAuthorization. If an error for an
// earlier verb is known, it is returned together with the index of the allowed verb.
func (p *authorizerAdapter) FirstAllowed(ctx context.Context, verbs []string) (int, error) {
	if !p.enumerable(ctx, len(verbs)) {
		return p.oneByOne(ctx, verbs)
	}
	first := slices.IndexFunc(verbs, p.allowedByRules)
	if first < 0 {
		return -1, nil
	}
	if allowed, _ := p.allowed(ctx, verbs[first]); allowed {
		return first, nil
	}
	// The rules changed meanwhile, allow more than the authorizer does, or the authorizer failed.
	return p.oneByOne(ctx, verbs)
}

func (p *authorizerAdapter) oneByOne(ctx context.Context, verbs []string) (int, error) {
	var failure error
	for i, verb := range verbs {
		allowed, err := p.allowed(ctx, verb)
		if allowed {
			return i, failure
		}
		if err != nil && failure == nil {
			failure = err
		}
		if err != nil && ctx.Err() != nil {
			break // the request has ended
		}
	}
	return -1, failure
}

// allowed reports whether the authorizer allows a verb. It returns an error only for a verb that
// is not allowed.
func (p *authorizerAdapter) allowed(ctx context.Context, verb string) (bool, error) {
	p.calls++
	allowed, err := allows(ctx, p.authorizer, p.attributes, verb)
	if allowed {
		return true, nil
	}
	return false, err
}

// maxSingleQuestions is how many verbs a request may check one by one. To check more, the adapter
// reads the rules of the caller. Three verbs cover a label: those for the metadata, for all
// labels, and for the labels of a domain.
const maxSingleQuestions = 3

// enumerable reports whether the rules of the caller are known and complete. It reads them once
// the request checks more than maxSingleQuestions verbs; the parameter is the number of verbs to
// check now.
func (p *authorizerAdapter) enumerable(ctx context.Context, verbs int) bool {
	if p.rulesRead || p.calls+verbs <= maxSingleQuestions {
		return p.complete
	}
	p.rulesRead = true
	resolver, ok := p.authorizer.(upstream.RuleResolver)
	caller := p.attributes.GetUser()
	if !ok || caller == nil || slices.Contains(caller.GetGroups(), user.SystemPrivilegedGroup) {
		// Members of the privileged group are allowed everything without a rule.
		return false
	}
	rules, _, incomplete, err := resolver.RulesFor(ctx, caller, p.attributes.GetNamespace())
	p.calls++
	p.complete = !incomplete && err == nil
	for _, rule := range rules {
		if p.appliesTo(rule) {
			p.verbs = append(p.verbs, rule.GetVerbs())
		}
	}
	return p.complete
}

// allowedByRules reports whether a rule of the caller allows a verb on the object of the
// request.
func (p *authorizerAdapter) allowedByRules(verb string) bool {
	return slices.ContainsFunc(p.verbs, func(of []string) bool {
		return slices.ContainsFunc(of, func(v string) bool { return v == verb || v == "*" })
	})
}

// appliesTo reports whether a rule is about the object of the request. It matches as
// k8s.io/kubernetes/pkg/apis/rbac/v1 does.
func (p *authorizerAdapter) appliesTo(rule upstream.ResourceRuleInfo) bool {
	a := p.attributes
	group, resource := a.GetAPIGroup(), a.GetResource()
	if sub := a.GetSubresource(); sub != "" {
		resource += "/" + sub
	}
	return slices.ContainsFunc(rule.GetAPIGroups(), func(g string) bool { return g == group || g == "*" }) &&
		slices.ContainsFunc(rule.GetResources(), func(r string) bool {
			return r == resource || r == "*" || a.GetSubresource() != "" && r == "*/"+a.GetSubresource()
		}) &&
		(len(rule.GetResourceNames()) == 0 || slices.Contains(rule.GetResourceNames(), a.GetName()))
}
