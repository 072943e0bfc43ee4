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

// verbAttributes are the attributes of a request, with another verb in place of the request's.
// They are for checks of permission verbs, such as "granular:labels". A permission verb need not
// contain the resource, because the attributes still have that of the request.
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

// unexplained are verbAttributes that tell the authorizer that it need not return a reason for
// the decision. RBAC takes longer to write a reason than to decide.
type unexplained struct {
	verbAttributes
}

var _ granular.Unexplained = unexplained{}

func (unexplained) Unexplained() {}

// ask asks the authorizer whether it allows the request a with the given verb in place of its
// own. If ctx was made by package rbacindex, RBAC reads only bindings that can include the caller,
// and only rules about the resource of the request.
func ask(ctx context.Context, authorizer upstream.Authorizer, a upstream.Attributes, verb string) (upstream.Decision, string, error) {
	return authorizer.Authorize(ctx, withVerb(a, verb))
}

// allows reports whether the authorizer allows the request a with the given verb in place of its
// own. allows is cheaper than ask, because the authorizer need not return a reason.
func allows(ctx context.Context, authorizer upstream.UnconditionalAuthorizer, a upstream.Attributes, verb string) (bool, error) {
	decision, _, err := authorizer.Authorize(ctx, unexplained{withVerb(a, verb)})
	return decision == upstream.DecisionAllow, err
}

// authorizerAdapter implements decide.Authorizer with the configured authorizer. It finds out
// which permission verbs the caller of one request holds.
//
// For every check RBAC reads all bindings of the caller. So to check more than a few verbs, the
// adapter reads the rules of the caller once, and looks up the verbs in these rules. It then asks
// the authorizer only about a verb that the rules contain, and the answer of the authorizer
// counts. If the authorizer can't return all rules, the adapter asks about one verb at a time.
type authorizerAdapter struct {
	authorizer upstream.Authorizer
	attributes upstream.Attributes

	// rulesRead is set after the adapter tried to read the rules of the caller, which it does only
	// once. complete is set if it got all rules of the caller.
	rulesRead bool
	complete  bool
	// verbs has one element for each rule of the caller that matches the object of the request:
	// the list of verbs of that rule.
	verbs [][]string
	// perhaps is set if ABAC may allow the caller all verbs on the object of the request.
	perhaps bool
	// calls counts the calls of the authorizer, including the one for the rules.
	calls int
}

// FirstAllowed returns the index of the first of the verbs that the authorizer allows, or -1 if
// it allows none. After a Deny or an error for one verb, the following, more specific verbs are
// still checked. If the authorizer returns Allow together with an error, the error is ignored, as
// in the filter WithAuthorization. FirstAllowed also returns the first error that the authorizer
// returned for a verb before the allowed one.
func (p *authorizerAdapter) FirstAllowed(ctx context.Context, verbs []string) (int, error) {
	if !p.enumerable(ctx, len(verbs)) {
		return p.oneByOne(ctx, verbs)
	}
	first := slices.IndexFunc(verbs, p.allowedByRules)
	if first < 0 && (!p.perhaps || len(verbs) == 0) {
		return -1, nil
	}
	if first < 0 {
		// ABAC decides alike about all verbs of a permission, so one of them is enough.
		allowed, err := p.allowed(ctx, verbs[0])
		if allowed {
			return 0, nil
		}
		return -1, err
	}
	if allowed, _ := p.allowed(ctx, verbs[first]); allowed {
		return first, nil
	}
	// The rules contain the verb, but the authorizer does not allow it. Either the rules changed
	// meanwhile, or they allow more than the authorizer does, or the authorizer failed.
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

// allowed reports whether the authorizer allows a verb. If the verb is allowed, the error is nil,
// even if the authorizer returned one.
func (p *authorizerAdapter) allowed(ctx context.Context, verb string) (bool, error) {
	p.calls++
	allowed, err := allows(ctx, p.authorizer, p.attributes, verb)
	if allowed {
		return true, nil
	}
	return false, err
}

// maxSingleQuestions is the number of verbs up to which the adapter asks the authorizer about each
// verb of a request. For more verbs the adapter first reads the rules of the caller. The limit is
// 3 because a label is covered by 3 verbs: for the metadata, for all labels, and for the labels of
// a domain.
const maxSingleQuestions = 3

// enumerable reports whether all rules of the caller are known. If the verbs checked so far for
// the request, and the number of verbs to check now, are together more than maxSingleQuestions,
// enumerable reads the rules, unless it tried that before.
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
		p.perhaps = p.perhaps || p.perhapsApplies(rule)
	}
	return p.complete
}

// allowedByRules reports whether one of the caller's rules that match the object of the request
// contains the verb or "*".
func (p *authorizerAdapter) allowedByRules(verb string) bool {
	return slices.ContainsFunc(p.verbs, func(alternatives []string) bool {
		return slices.ContainsFunc(alternatives, func(v string) bool { return v == verb || v == "*" })
	})
}

// appliesTo reports whether a rule matches the API group, resource, subresource and name of the
// request. It has the same result as the functions of k8s.io/kubernetes/pkg/apis/rbac/v1.
func (p *authorizerAdapter) appliesTo(rule upstream.ResourceRuleInfo) bool {
	a := p.attributes
	resource := a.GetResource()
	if sub := a.GetSubresource(); sub != "" {
		resource += "/" + sub
	}
	return p.names(rule, func(r string) bool {
		return r == resource || r == "*" || a.GetSubresource() != "" && r == "*/"+a.GetSubresource()
	})
}

// perhapsApplies reports whether a rule with all verbs names the resource of a request for a
// subresource. ABAC ignores the subresource, so it may allow the request by this rule. RBAC does not.
func (p *authorizerAdapter) perhapsApplies(rule upstream.ResourceRuleInfo) bool {
	return p.attributes.GetSubresource() != "" && slices.Contains(rule.GetVerbs(), "*") &&
		p.names(rule, func(r string) bool { return r == p.attributes.GetResource() })
}

// names reports whether a rule has the API group and name of the request, and a resource for which
// matches returns true.
func (p *authorizerAdapter) names(rule upstream.ResourceRuleInfo, matches func(resource string) bool) bool {
	a := p.attributes
	return slices.ContainsFunc(rule.GetAPIGroups(), func(g string) bool { return g == a.GetAPIGroup() || g == "*" }) &&
		slices.ContainsFunc(rule.GetResources(), matches) &&
		(len(rule.GetResourceNames()) == 0 || slices.Contains(rule.GetResourceNames(), a.GetName()))
}
