// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	seam "k8s.io/apiserver/pkg/authorization/selected"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/kubernetes/pkg/registry/rbac/validation"

	authorityvalidation "kube-granular.dev/api/authority/validation"
	"kube-granular.dev/granular/permission"
	"kube-granular.dev/pkg/coverage"
	"kube-granular.dev/pkg/delegation"
	"kube-granular.dev/pkg/included"
	"kube-granular.dev/pkg/rbacindex"
)

// authorizeDelegated decides about a caller who selected a delegation. A delegation that was
// created under another one forms a chain with it. The request is allowed under these conditions:
// all delegations of the chain cover it; no authorizer denies it to the caller or to a delegator
// in the chain; and the delegator of the chain's first delegation is allowed the request now. The
// last condition does not apply if the first delegation has ifLost: Keep.
func (a *Authorizer) authorizeDelegated(ctx context.Context, s *User, attributes authorizer.Attributes) (authorizer.Decision, string, error) {
	if a.delegations == nil {
		return authorizer.DecisionDeny, ErrNotServed.Error(), nil
	}
	own := isOwnRequest(ctx, s, attributes)
	answer := func(decision authorizer.Decision, refusal *delegation.Refusal) (authorizer.Decision, string, error) {
		if own {
			s.refused.Store(refusal)
		}
		return decision, refusal.Message, nil
	}
	chain, refusal := s.Chain(ctx, a.delegations)
	if refusal != nil {
		return answer(authorizer.DecisionDeny, refusal)
	}
	if refusal := chain.CheckCovers(attributes, own); refusal != nil {
		return answer(authorizer.DecisionNoOpinion, refusal)
	}
	if chain.NeedsGet(attributes) {
		refusal, err := a.checkReadable(ctx, chain, attributes)
		if err != nil {
			return authorizer.DecisionNoOpinion, "", err
		}
		if refusal != nil {
			return answer(authorizer.DecisionNoOpinion, refusal)
		}
	}
	if root := chain.Root(); !root.Keep && a.bound.of(root.Delegator) != nil {
		return answer(authorizer.DecisionNoOpinion, &delegation.Refusal{Reason: delegation.NotHeld,
			Message: chain.DescribeDelegator(0) + " acts under a delegation itself now, and has no permissions of its own to give"})
	}
	for i, link := range chain.Links {
		if link.Keep && chain.DelegatorGone(ctx, i) {
			continue // the name may belong to another account now, of which nothing is asked
		}
		decision, err := a.asDelegator(ctx, attributes, link.Delegator)
		switch {
		case decision == authorizer.DecisionDeny:
			return answer(decision, &delegation.Refusal{Reason: delegation.Denied,
				Message: "the request is denied for " + strings.TrimSuffix(chain.DescribeDelegator(i), ",")})
		case decision == authorizer.DecisionAllow || i > 0 || link.Keep:
		case err != nil:
			return authorizer.DecisionNoOpinion, "", err
		default:
			return answer(authorizer.DecisionNoOpinion,
				&delegation.Refusal{Reason: delegation.NotHeld, Message: chain.DescribeDelegator(i) + " is not allowed to make this request"})
		}
	}
	decision, reason, err := a.selected(&authorization{Context: ctx, attributes: attributes, chain: chain}, s, attributes)
	switch {
	case decision == authorizer.DecisionAllow:
		if own {
			chain.RecordUse()
			s.allowed.Store(true)
			s.refused.Store(nil)
		}
	case own && decision == authorizer.DecisionDeny:
		s.refused.Store(&delegation.Refusal{Reason: delegation.Denied, Message: reason})
	}
	return decision, reason, err
}

// checkReadable returns why the conditions of a chain can't be evaluated for a request, or nil if
// they can. A condition that refuses a write, or allows it, reveals content of the object. So all
// delegations must allow the verb get on that object, and the first delegator must be allowed to get
// it. What the caller may do beyond the delegation does not matter.
func (a *Authorizer) checkReadable(ctx context.Context, chain *delegation.Chain, attributes authorizer.Attributes) (*delegation.Refusal, error) {
	refusal, root := chain.CheckReadable(attributes), chain.Root()
	if refusal != nil || root.Keep {
		return refusal, nil
	}
	decision, err := a.asDelegator(ctx, delegation.ReadRequest(attributes), root.Delegator)
	switch {
	case decision == authorizer.DecisionAllow:
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &delegation.Refusal{Reason: delegation.NotHeld,
		Message: chain.DescribeDelegator(0) + " may not get the object, which conditions require"}, nil
}

// asDelegator asks the configured authorizer whether a delegator is allowed a request. A verb such
// as granular:image stands for a permission on single fields. A delegator who does not hold that
// verb is still allowed the request if the delegator may update and patch the whole object, or holds
// verbs of more general permissions.
func (a *Authorizer) asDelegator(ctx context.Context, attributes authorizer.Attributes, delegator user.Info) (authorizer.Decision, error) {
	// Package rbacindex looks up the bindings of the user that asked names. So asked must name the
	// delegator as its user, and not the caller.
	ctx = rbacindex.WithoutQuery(ctx)
	ask := func(attributes authorizer.Attributes) (authorizer.Decision, error) {
		asked := requestOf{attributes, delegator}
		decision, _, err := a.Authorizer.Authorize(rbacindex.For(ctx, asked), asked)
		return decision, err
	}
	decision, err := ask(attributes)
	if decision != authorizer.DecisionNoOpinion {
		return decision, err
	}
	included := delegation.Includes(attributes, func(instead authorizer.Attributes) bool {
		answer, failure := ask(instead)
		if answer == authorizer.DecisionDeny {
			decision = answer
		}
		err = cmp.Or(err, failure)
		return answer == authorizer.DecisionAllow
	})
	if included {
		return authorizer.DecisionAllow, nil
	}
	return decision, err
}

// isOwnRequest reports whether the attributes describe the HTTP request itself, and not another
// authorization check that is made while the request is served. The difference matters because only
// the object of the HTTP request is verified again when it is stored.
func isOwnRequest(ctx context.Context, s *User, a authorizer.Attributes) bool {
	info, ok := request.RequestInfoFrom(ctx)
	if u, _ := request.UserFrom(ctx); !ok || u != user.Info(s) {
		return false
	}
	if !info.IsResourceRequest {
		return !a.IsResourceRequest() && a.GetPath() == info.Path && a.GetVerb() == info.Verb
	}
	// The verbs may differ: an update may create its object, granular verbs authorize single fields,
	// and a read may be one of metadata alone.
	write := info.Verb == "update" || info.Verb == "patch"
	verb := a.GetVerb() == info.Verb || permission.IsVerb(a.GetVerb()) && (write || info.Verb == "create") || write && a.GetVerb() == "create" ||
		a.GetVerb() == included.MetadataVerb && slices.Contains([]string{"get", "list", "watch"}, info.Verb)
	name := a.GetName() == info.Name || info.Verb == "create" && info.Name == ""
	return a.IsResourceRequest() && verb && name && a.GetAPIGroup() == info.APIGroup && a.GetResource() == info.Resource &&
		a.GetSubresource() == info.Subresource && a.GetNamespace() == info.Namespace
}

type newDelegationKey struct{}

// ForNewDelegation returns a context for an escalation check that is made because a caller with a
// selected delegation creates another delegation under it. The new delegation inherits the
// conditions of the selected one, so the caller counts as holding rules with conditions, too.
func ForNewDelegation(ctx context.Context) context.Context {
	return context.WithValue(ctx, newDelegationKey{}, true)
}

func forNewDelegation(ctx context.Context) bool { return ctx.Value(newDelegationKey{}) != nil }

// visitDelegated calls visit for each rule that the selected delegation gives the caller in a
// namespace, or in the whole cluster if namespace is empty. During an authorization these are all
// rules of the delegation, because authorizeDelegated has already checked the rest of the chain.
// For other purposes, such as escalation checks, they are only the rules that all delegations of
// the chain contain and that the first delegator holds.
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
		visit(nil, nil, ErrNotServed)
		return
	}
	chain, refusal := s.Chain(ctx, sel.Delegations)
	if refusal != nil {
		visit(nil, nil, refusal)
		return
	}
	if chain.Conditional() && !forNewDelegation(ctx) {
		// The caller wants to write a role or a binding, which can't carry the conditions of the
		// delegation. So rules with conditions do not count.
		return
	}
	for i := range chain.Links {
		if !chain.Links[i].InScope(namespace) {
			return
		}
	}
	if root := chain.Root(); !root.Keep && sel.Bound.of(root.Delegator) != nil {
		return
	}
	for _, rule := range effectiveRules(ctx, policy, chain, namespace) {
		if !visit(delegationSource{chain.Leaf()}, &rule, nil) {
			return
		}
	}
}

// delegationSource names a delegation as the source of a rule.
type delegationSource struct{ *delegation.Delegation }

func (s delegationSource) String() string { return fmt.Sprintf("AuthorityDelegation %q", s.Name) }

// effectiveRules returns the rules of the selected delegation without the permissions that an
// ancestor of the delegation does not contain, and without those that the first delegator does not
// hold now. If the first delegation has ifLost: Keep, it does not matter what the first delegator
// holds now. It returns nothing for rules with too many permissions: no new delegation has them. It
// returns nothing either if the comparison is too much work.
func effectiveRules(ctx context.Context, policy seam.Policy, chain *delegation.Chain, namespace string) []rbacv1.PolicyRule {
	if !authorityvalidation.FewPermissions(chain.Leaf().Rules) {
		return nil
	}
	work := coverage.WorkOfRequest
	if forNewDelegation(ctx) {
		work = coverage.WorkOfCreation
	}
	left := coverage.New(chain.Leaf().Rules, work)
	for _, link := range chain.Links[:len(chain.Links)-1] {
		left.Keep(link.Rules)
	}
	if root := chain.Root(); !root.Keep && !slices.Contains(root.Delegator.GetGroups(), user.SystemPrivilegedGroup) {
		missing := left.Clone()
		all := validation.NewDefaultRuleResolver(policy, policy, policy, policy)
		all.VisitRulesFor(rbacindex.WithoutQuery(ctx), root.Delegator, namespace, func(_ fmt.Stringer, rule *rbacv1.PolicyRule, _ error) bool {
			if rule != nil {
				missing.Grant(rule)
			}
			return !missing.Empty()
		})
		left.Remove(missing)
	}
	if left.Exhausted() {
		return nil
	}
	return left.Rules()
}
