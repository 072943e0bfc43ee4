// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"

	"kube-granular.dev/pkg/delegation"
)

// Authorizer wraps the configured authorizer. A caller can select an authority, which is a role or
// a delegation, in the header Authority-Selector. A caller who does so is allowed only what RBAC
// allows by the rules of that authority. A denial of the configured authorizer still counts. All
// other callers get the decision of the configured authorizer.
type Authorizer struct {
	authorizer.Authorizer
	// rbac is the RBAC authorizer alone. It is nil if the server does not use RBAC. In that case
	// no role can be selected, so that roles and bindings in storage stay without effect.
	rbac authorizer.Authorizer
	// delegations are the delegations that a caller can select. It is nil if this server does
	// not serve delegations.
	delegations *delegation.Index
	// bound are the service accounts that act under a delegation without selecting it. It is nil if
	// this server does not serve delegations.
	bound *Bound
}

var (
	_ authorizer.Authorizer   = &Authorizer{}
	_ authorizer.RuleResolver = &Authorizer{}
)

// hasRBAC is implemented by the authorizer that kube-apiserver configures.
type hasRBAC interface {
	RBAC() authorizer.Authorizer
}

// New returns an Authorizer around configured. It uses the RBAC authorizer of configured, if
// there is one. If delegations is nil, callers can select roles only. If bound is nil, no service
// account is bound.
func New(configured authorizer.Authorizer, delegations *delegation.Index, bound *Bound) *Authorizer {
	return &Authorizer{Authorizer: configured, rbac: rbacOf(configured), delegations: delegations, bound: bound}
}

func rbacOf(configured any) authorizer.Authorizer {
	if c, ok := configured.(hasRBAC); ok {
		return c.RBAC()
	}
	return nil
}

var errNoRBAC = errors.New("no role can be selected, because RBAC is not among the server's authorizers")

var errNoRules = errors.New("the configured authorizer can't list rules")

// Authorize returns the decision of the configured authorizer. If the caller selected an
// authority, an allowance counts only if RBAC allows the request by the rules of that authority;
// a denial always counts. Requests for discovery and health, and the reviews with which callers ask
// about themselves (see selfReviews), are decided as if nothing was selected. A service account that is
// bound to a delegation counts as a caller who selected it.
func (a *Authorizer) Authorize(ctx context.Context, attributes authorizer.Attributes) (authorizer.Decision, string, error) {
	caller, notBound := a.bound.bind(ctx, a.delegations, attributes.GetUser())
	if notBound == nil && !Selects(caller) {
		return a.Authorizer.Authorize(ctx, attributes)
	}
	if unrestricted(attributes) {
		return a.Authorizer.Authorize(ctx, requestOf{attributes, WithoutSelection(attributes.GetUser())})
	}
	if notBound != nil {
		return authorizer.DecisionDeny, notBound.Message, nil
	}
	s, err := UserOf(caller)
	if err == nil && boundMeanwhile(ctx, s) {
		err = errBoundMeanwhile
	}
	if err == nil && a.rbac == nil {
		err = errNoRBAC
	}
	if err == nil && s.bound != nil {
		err = s.checkBound(ctx, attributes)
	}
	if err == nil {
		err = checkCredential(attributes)
	}
	if err != nil {
		return authorizer.DecisionDeny, err.Error(), nil
	}
	if attributes.GetUser() != user.Info(s) {
		attributes = requestOf{attributes, s}
	}
	if s.SelectsDelegation() {
		return a.authorizeDelegated(ctx, s, attributes)
	}
	return a.selected(&authorization{Context: ctx, attributes: attributes}, s, attributes)
}

var errBoundMeanwhile = errors.New("the service account was bound to a delegation while the request waited; send the request again")

// boundMeanwhile reports whether the caller of the request in ctx is the bound account s, and was not bound when the request
// arrived. Then nothing ends the request with the delegation, and nothing checks the delegation before an object is stored.
func boundMeanwhile(ctx context.Context, s *User) bool {
	caller, ok := request.UserFrom(ctx)
	if !ok || s.bound == nil || caller.GetName() != s.GetName() {
		return false
	}
	selecting, ok := caller.(*User)
	return !ok || selecting.bound == nil
}

// selected returns the decision about a caller who selected an authority. It asks the configured
// authorizer. RBAC, as a part of that authorizer, reads the caller's rules by Selection.Visit,
// which returns only the rules of the selected authority.
func (a *Authorizer) selected(asking *authorization, s *User, attributes authorizer.Attributes) (authorizer.Decision, string, error) {
	decision, reason, err := a.Authorizer.Authorize(asking, attributes)
	if decision == authorizer.DecisionAllow && !asking.allowedByRBAC {
		// An authorizer other than RBAC allowed the request. Only what RBAC decides counts.
		decision, reason, err = a.rbac.Authorize(asking, attributes)
	}
	if decision == authorizer.DecisionNoOpinion {
		reason = join(reason, fmt.Sprintf("the selected %s does not allow the request, or the caller does not hold all of its permissions",
			describe(s.reference)))
	}
	return decision, reason, err
}

func join(reasons ...string) string {
	if reasons[0] == "" {
		reasons = reasons[1:]
	}
	return strings.Join(reasons, "\n")
}

// ConditionsAwareAuthorize never returns a conditional decision about a caller who selected an
// authority.
func (a *Authorizer) ConditionsAwareAuthorize(ctx context.Context, attributes authorizer.Attributes) authorizer.ConditionsAwareDecision {
	if u := attributes.GetUser(); !Selects(u) && a.bound.of(u) == nil {
		return a.Authorizer.ConditionsAwareAuthorize(ctx, attributes)
	}
	return authorizer.ConditionsAwareDecisionFromParts(a.Authorize(ctx, attributes))
}

// RulesFor returns the rules of a user in a namespace. For a user who selected an authority, it
// returns only the rules of that authority.
func (a *Authorizer) RulesFor(
	ctx context.Context, u user.Info, namespace string,
) ([]authorizer.ResourceRuleInfo, []authorizer.NonResourceRuleInfo, bool, error) {
	u, refusal := a.bound.bind(ctx, a.delegations, u)
	if refusal != nil {
		return nil, nil, true, refusal
	}
	return rules{a.Authorizer, a.rbac}.RulesFor(ctx, u, namespace)
}

// rules lists the rules of users. For a user who selected an authority, it asks RBAC alone. For all
// other users it asks the configured authorizer.
type rules struct {
	configured any
	rbac       authorizer.Authorizer
}

func (r rules) RulesFor(ctx context.Context, u user.Info, namespace string) ([]authorizer.ResourceRuleInfo, []authorizer.NonResourceRuleInfo, bool, error) {
	inner := r.configured
	if Selects(u) {
		s, err := UserOf(u)
		if err != nil {
			return nil, nil, true, err
		}
		inner, u = r.rbac, s
		if s.SelectsDelegation() {
			resources, paths, _, err := rules{configured: inner}.rulesFor(ctx, u, namespace)
			// The list is reported as incomplete, because it lacks conditional rules, and rules
			// of which the delegator holds only a part.
			return resources, paths, true, err
		}
	}
	return rules{configured: inner}.rulesFor(ctx, u, namespace)
}

func (r rules) rulesFor(ctx context.Context, u user.Info, namespace string) ([]authorizer.ResourceRuleInfo, []authorizer.NonResourceRuleInfo, bool, error) {
	if resolver, ok := r.configured.(authorizer.RuleResolver); ok {
		return resolver.RulesFor(ctx, u, namespace)
	}
	return nil, nil, true, errNoRules
}

// requestOf replaces the user in the attributes of an authorization check.
type requestOf struct {
	authorizer.Attributes
	user user.Info
}

func (a requestOf) GetUser() user.Info { return a.user }

// authorization is the context.Context of one authorization check about a caller who selected an
// authority. It is passed through the configured authorizers to RBAC. There Selection.Visit, which
// restricts RBAC to that authority, reads the fields below and sets allowedByRBAC.
type authorization struct {
	context.Context
	attributes authorizer.Attributes
	// chain is the selected delegation with its ancestors. It is set only if the rules of all of
	// them are known to cover the request.
	chain *delegation.Chain
	// allowedByRBAC is true once RBAC has found a rule that allows the request.
	allowedByRBAC bool
}

type authorizationKey struct{}

func (q *authorization) Value(key any) any {
	if key == (authorizationKey{}) {
		return q
	}
	return q.Context.Value(key)
}

func authorizationFrom(ctx context.Context) *authorization {
	q, _ := ctx.Value(authorizationKey{}).(*authorization)
	return q
}
