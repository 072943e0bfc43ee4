// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"context"
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	seam "k8s.io/apiserver/pkg/authorization/selected"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/kubernetes/pkg/registry/rbac/validation"

	"kube-granular.dev/pkg/delegation"
	"kube-granular.dev/pkg/rbacindex"
)

// authorizeDelegated decides about a caller who selected a delegation: all delegations of its
// chain must allow the request, no authorizer may deny it to the caller or to a delegator,
// and the first delegator must be allowed it now.
func (a *Authorizer) authorizeDelegated(ctx context.Context, s *User, attributes authorizer.Attributes) (authorizer.Decision, string, error) {
	if a.delegations == nil {
		return authorizer.DecisionDeny, errNotServed.Error(), nil
	}
	own := isOwnRequest(ctx, s, attributes)
	answer := func(decision authorizer.Decision, refusal *delegation.Refusal) (authorizer.Decision, string, error) {
		if own {
			s.refused.Store(refusal)
		}
		return decision, refusal.Message, nil
	}
	chain, refusal := s.chain(ctx, a.delegations)
	if refusal != nil {
		return answer(authorizer.DecisionDeny, refusal)
	}
	if refusal := chain.CheckCovers(attributes, own); refusal != nil {
		return answer(authorizer.DecisionNoOpinion, refusal)
	}
	if chain.Conditional() && attributes.GetVerb() == "granular" {
		// Conditions would tell of objects that may be written and not read.
		refusal := chain.CheckReadable(attributes)
		if root := chain.Root(); refusal == nil && !root.Keep {
			if decision, err := a.asDelegator(ctx, delegation.ReadRequest(attributes), root.Delegator); decision != authorizer.DecisionAllow {
				if err != nil {
					return authorizer.DecisionNoOpinion, "", err
				}
				refusal = &delegation.Refusal{Reason: delegation.NotHeld, Message: fmt.Sprintf("user %q may not read what AuthorityDelegation %q has conditions about", root.Delegator.GetName(), root.Name)}
			}
		}
		if refusal != nil {
			return answer(authorizer.DecisionNoOpinion, refusal)
		}
	}
	for i, link := range chain.Links {
		decision, err := a.asDelegator(ctx, attributes, link.Delegator)
		switch {
		case decision == authorizer.DecisionDeny:
			return answer(decision, &delegation.Refusal{Reason: delegation.Denied, Message: fmt.Sprintf("it is denied to user %q, who created AuthorityDelegation %q", link.Delegator.GetName(), link.Name)})
		case decision == authorizer.DecisionAllow || i > 0 || link.Keep:
		case err != nil:
			return authorizer.DecisionNoOpinion, "", err
		default:
			return answer(authorizer.DecisionNoOpinion, &delegation.Refusal{Reason: delegation.NotHeld, Message: fmt.Sprintf("user %q, who created AuthorityDelegation %q, is not allowed to", link.Delegator.GetName(), link.Name)})
		}
	}
	decision, reason, err := a.selected(&authorization{Context: ctx, attributes: attributes, chain: chain}, s, attributes)
	switch {
	case decision == authorizer.DecisionAllow:
		if own {
			chain.RecordUse()
			s.refused.Store(nil)
		}
	case own && decision == authorizer.DecisionDeny:
		s.refused.Store(&delegation.Refusal{Reason: delegation.Denied, Message: reason})
	}
	return decision, reason, err
}

// asDelegator asks the configured authorizer about a delegator. Who may update and patch a
// whole object may also change those of its fields that a permission verb is about.
func (a *Authorizer) asDelegator(ctx context.Context, attributes authorizer.Attributes, delegator user.Info) (authorizer.Decision, error) {
	// What is found by subject is found by that of the question.
	asked := requestOf{attributes, delegator}
	ctx = rbacindex.WithoutQuery(ctx)
	decision, _, err := a.Authorizer.Authorize(rbacindex.For(ctx, asked), asked)
	ordinary := delegation.IncludingRequests(attributes)
	if decision != authorizer.DecisionNoOpinion || len(ordinary) == 0 {
		return decision, err
	}
	for _, instead := range ordinary {
		if decision, _, err = a.Authorizer.Authorize(rbacindex.For(ctx, requestOf{instead, delegator}), requestOf{instead, delegator}); decision != authorizer.DecisionAllow {
			return decision, err
		}
	}
	return authorizer.DecisionAllow, nil
}

// isOwnRequest reports whether a question is about what the request itself is to do, and so about
// what is looked at when that is stored.
func isOwnRequest(ctx context.Context, s *User, a authorizer.Attributes) bool {
	info, ok := request.RequestInfoFrom(ctx)
	if u, _ := request.UserFrom(ctx); !ok || u != user.Info(s) {
		return false
	}
	if !info.IsResourceRequest {
		return !a.IsResourceRequest() && a.GetPath() == info.Path && a.GetVerb() == info.Verb
	}
	// An update may create its object, and single fields are asked about with other verbs.
	write := info.Verb == "update" || info.Verb == "patch"
	verb := a.GetVerb() == info.Verb || delegation.IsPermission(a.GetVerb()) && (write || info.Verb == "create") || write && a.GetVerb() == "create"
	name := a.GetName() == info.Name || info.Verb == "create" && info.Name == ""
	return a.IsResourceRequest() && verb && name && a.GetAPIGroup() == info.APIGroup && a.GetResource() == info.Resource &&
		a.GetSubresource() == info.Subresource && a.GetNamespace() == info.Namespace
}

// visitDelegated visits what a delegation gives a caller in a namespace, or everywhere if that
// is empty. Where a request is decided about that is what was delegated, whose reach is
// known. Otherwise it is what the delegator has, and all delegations of the chain.
func (sel Selection) visitDelegated(ctx context.Context, policy seam.Policy, s *User, namespace string, visit visitor) {
	if q := authorizationFrom(ctx); q != nil {
		if q.chain == nil {
			return
		}
		visit = q.recordAllowed(visit)
		for i := range q.chain.Leaf().Rules {
			if !visit(delegationSource{q.chain.Leaf()}, &q.chain.Leaf().Rules[i], nil) {
				return
			}
		}
		return
	}
	if sel.Delegations == nil {
		visit(nil, nil, errNotServed)
		return
	}
	chain, refusal := s.chain(ctx, sel.Delegations)
	if refusal != nil {
		visit(nil, nil, refusal)
		return
	}
	if chain.Conditional() && ctx.Value(delegatingKey{}) == nil {
		// Who grants a role hands no condition on.
		return
	}
	for i := range chain.Links {
		if !chain.Links[i].InScope(namespace) {
			return
		}
	}
	for _, rule := range effectiveRules(ctx, policy, chain, namespace) {
		if !visit(delegationSource{chain.Leaf()}, &rule, nil) {
			return
		}
	}
}

// delegationSource is the source of a rule that no binding is.
type delegationSource struct{ *delegation.Delegation }

func (s delegationSource) String() string { return fmt.Sprintf("AuthorityDelegation %q", s.Name) }

// effectiveRules returns the rules of a chain, taken apart, as far as all its delegations and its first
// delegator have them.
func effectiveRules(ctx context.Context, policy seam.Policy, chain *delegation.Chain, namespace string) []rbacv1.PolicyRule {
	left := splitRules(chain.Leaf().Rules)
	for _, link := range chain.Links[:len(chain.Links)-1] {
		left = slices.DeleteFunc(left, func(p permission) bool {
			return !slices.ContainsFunc(link.Rules, func(rule rbacv1.PolicyRule) bool { return p.coveredBy(&rule) })
		})
	}
	if root := chain.Root(); !root.Keep && !slices.Contains(root.Delegator.GetGroups(), user.SystemPrivilegedGroup) {
		missing := slices.Clone(left)
		all := validation.NewDefaultRuleResolver(policy, policy, policy, policy)
		all.VisitRulesFor(rbacindex.WithoutQuery(ctx), root.Delegator, namespace, func(_ fmt.Stringer, rule *rbacv1.PolicyRule, _ error) bool {
			if rule != nil {
				missing = slices.DeleteFunc(missing, func(p permission) bool { return p.coveredBy(rule) })
			}
			return len(missing) > 0
		})
		left = slices.DeleteFunc(left, func(p permission) bool { return slices.Contains(missing, p) })
	}
	out := make([]rbacv1.PolicyRule, 0, len(left))
	for _, p := range left {
		out = append(out, p.rule())
	}
	return out
}

func (p permission) rule() rbacv1.PolicyRule {
	if p.forURL {
		return rbacv1.PolicyRule{Verbs: []string{p.verb}, NonResourceURLs: []string{p.url}}
	}
	rule := rbacv1.PolicyRule{Verbs: []string{p.verb}, APIGroups: []string{p.group}, Resources: []string{p.resource}}
	if p.named {
		rule.ResourceNames = []string{p.name}
	}
	return rule
}
