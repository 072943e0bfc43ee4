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

// verbAttributes are the attributes of a request with another verb. Resource,
// subresource, name and user stay those of the request, which is why permissions
// never name a kind.
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

// unexplained are verbAttributes of which nobody reads why they are allowed: RBAC takes
// longer to say it than to find it.
type unexplained struct {
	verbAttributes
}

var _ granular.Unexplained = unexplained{}

func (unexplained) Unexplained() {}

// ask asks another verb about the request. Under a context of package bindings RBAC looks,
// of all bindings, at those that may be about its caller, and of their roles at those that
// are about its resource.
func ask(ctx context.Context, authorizer upstream.Authorizer, a upstream.Attributes, verb string) (upstream.Decision, string, error) {
	return authorizer.Authorize(ctx, withVerb(a, verb))
}

// allows is ask without the reason.
func allows(ctx context.Context, authorizer upstream.Authorizer, a upstream.Attributes, verb string) (bool, error) {
	decision, _, err := authorizer.Authorize(ctx, unexplained{withVerb(a, verb)})
	return decision == upstream.DecisionAllow, err
}

// port answers package decide with the configured authorizer.
//
// RBAC looks through all bindings of the caller for every question, so more than a few
// verbs are answered from the rules of the caller, which take one such look. Those rules
// only ever spare questions: what they allow the authorizer itself is asked, and must
// allow; where they might not be all there is, it is asked one verb at a time.
type authorizerAdapter struct {
	authorizer upstream.Authorizer
	attributes upstream.Attributes

	// looked says that verbs and complete are set.
	rulesRead bool
	complete  bool
	// verbs holds those of each of the caller's rules about the object.
	verbs [][]string
	// calls counts questions to the authorizer, a look at the rules being one.
	calls int
}

// FirstAllowed returns the index of the first verb that is allowed, or -1. A Deny
// of a permission verb says that this permission covers nothing; a more specific
// one may still be allowed, and so it may where the authorizer failed on a general
// one: whatever its answer had been, the specific one would have been asked or not
// needed. An error that comes with Allow is ignored, as the filter WithAuthorization
// does; one of a verb before the first that is allowed is returned beside it.
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
	// The rules changed under the request, say more than the authorizer does, or it failed.
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
			break // nobody waits for the answer any more
		}
	}
	return -1, failure
}

// allowed returns an error only for a verb that is not allowed.
func (p *authorizerAdapter) allowed(ctx context.Context, verb string) (bool, error) {
	p.calls++
	allowed, err := allows(ctx, p.authorizer, p.attributes, verb)
	if allowed {
		return true, nil
	}
	return false, err
}

// few is how many verbs of a request are asked one by one sooner than the rules of its
// caller are read. A label or annotation takes three.
const maxSingleQuestions = 3

// enumerable says whether the rules of the caller are known and all there is. A few
// verbs are not worth a look at them.
func (p *authorizerAdapter) enumerable(ctx context.Context, verbs int) bool {
	if p.rulesRead || p.calls+verbs <= maxSingleQuestions {
		return p.complete
	}
	p.rulesRead = true
	resolver, ok := p.authorizer.(upstream.RuleResolver)
	caller := p.attributes.GetUser()
	if !ok || caller == nil || slices.Contains(caller.GetGroups(), user.SystemPrivilegedGroup) {
		// Members of the privileged group are allowed everything by no rule.
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

// ruled says whether a rule of the caller allows a verb on the object of the
// request.
func (p *authorizerAdapter) allowedByRules(verb string) bool {
	return slices.ContainsFunc(p.verbs, func(of []string) bool {
		return slices.ContainsFunc(of, func(v string) bool { return v == verb || v == "*" })
	})
}

// concerns says whether a rule is about the object of the request, read as
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
