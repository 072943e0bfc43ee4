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

	"kube-granular.dev/pkg/delegation"
)

// Authorizer asks the configured authorizer about callers who select nothing. About callers who
// select, it asks RBAC, restricted by Visit, unless the configured authorizer denies.
type Authorizer struct {
	authorizer.Authorizer
	// rbac decides by roles alone. It is nil where RBAC is not configured: roles and bindings in
	// storage were then never meant to have an effect.
	rbac authorizer.Authorizer
	// delegations are the delegations that a caller can select. It is nil where none can be
	// selected.
	delegations *delegation.Index
}

var (
	_ authorizer.Authorizer   = &Authorizer{}
	_ authorizer.RuleResolver = &Authorizer{}
)

// hasRBAC is implemented by the authorizer that kube-apiserver configures.
type hasRBAC interface {
	RBAC() authorizer.Authorizer
}

// New returns an authorizer for callers who may select. It uses RBAC if configured includes it. A
// nil index means that no delegation can be selected.
func New(configured authorizer.Authorizer, delegations *delegation.Index) *Authorizer {
	return &Authorizer{Authorizer: configured, rbac: rbacOf(configured), delegations: delegations}
}

func rbacOf(configured any) authorizer.Authorizer {
	if c, ok := configured.(hasRBAC); ok {
		return c.RBAC()
	}
	return nil
}

var errNoRBAC = errors.New("no role can be selected, because RBAC is not among the server's authorizers")

var errNoRules = errors.New("the configured authorizer can't list rules")

// Authorize asks the configured authorizer. For a caller who selects, an allowance of the
// configured authorizer counts only if RBAC allows the request by what is selected; a denial
// always counts.
func (a *Authorizer) Authorize(ctx context.Context, attributes authorizer.Attributes) (authorizer.Decision, string, error) {
	if !selects(attributes.GetUser()) {
		return a.Authorizer.Authorize(ctx, attributes)
	}
	if unrestricted(attributes) {
		return a.Authorizer.Authorize(ctx, requestOf{attributes, withoutSelection(attributes.GetUser())})
	}
	s, err := UserOf(attributes.GetUser())
	if err == nil && a.rbac == nil {
		err = errNoRBAC
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
	if s.delegated() {
		return a.authorizeDelegated(ctx, s, attributes)
	}
	return a.selected(&authorization{Context: ctx, attributes: attributes}, s, attributes)
}

// selected asks the configured authorizer, with RBAC restricted to what the caller selected.
func (a *Authorizer) selected(asking *authorization, s *User, attributes authorizer.Attributes) (authorizer.Decision, string, error) {
	decision, reason, err := a.Authorizer.Authorize(asking, attributes)
	if decision == authorizer.DecisionAllow && !asking.allowedByRBAC {
		// Another authorizer allowed it before RBAC was asked.
		decision, reason, err = a.rbac.Authorize(asking, attributes)
	}
	if decision == authorizer.DecisionNoOpinion {
		reason = join(reason, fmt.Sprintf("the selected %s does not allow it, or the caller does not hold it", describe(s.reference)))
	}
	return decision, reason, err
}

func join(reasons ...string) string {
	if reasons[0] == "" {
		reasons = reasons[1:]
	}
	return strings.Join(reasons, "\n")
}

// ConditionsAwareAuthorize never returns a conditional decision for a caller who selects.
func (a *Authorizer) ConditionsAwareAuthorize(ctx context.Context, attributes authorizer.Attributes) authorizer.ConditionsAwareDecision {
	if !selects(attributes.GetUser()) {
		return a.Authorizer.ConditionsAwareAuthorize(ctx, attributes)
	}
	return authorizer.ConditionsAwareDecisionFromParts(a.Authorize(ctx, attributes))
}

// RulesFor returns the rules of a user. For a user who selects, they are the selected rules only.
func (a *Authorizer) RulesFor(ctx context.Context, u user.Info, namespace string) ([]authorizer.ResourceRuleInfo, []authorizer.NonResourceRuleInfo, bool, error) {
	return rules{a.Authorizer, a.rbac}.RulesFor(ctx, u, namespace)
}

// rules lists rules by the configured authorizer, and by RBAC for a caller who selects.
type rules struct {
	configured any
	rbac       authorizer.Authorizer
}

func (r rules) RulesFor(ctx context.Context, u user.Info, namespace string) ([]authorizer.ResourceRuleInfo, []authorizer.NonResourceRuleInfo, bool, error) {
	of := r.configured
	if selects(u) {
		s, err := UserOf(u)
		if err != nil {
			return nil, nil, true, err
		}
		of, u = r.rbac, s
		if s.delegated() {
			resources, paths, _, err := rules{configured: of}.rulesFor(ctx, u, namespace)
			// The list is incomplete: it lacks conditional rules and rules that the delegator
			// holds in part.
			return resources, paths, true, err
		}
	}
	return rules{configured: of}.rulesFor(ctx, u, namespace)
}

func (r rules) rulesFor(ctx context.Context, u user.Info, namespace string) ([]authorizer.ResourceRuleInfo, []authorizer.NonResourceRuleInfo, bool, error) {
	if resolver, ok := r.configured.(authorizer.RuleResolver); ok {
		return resolver.RulesFor(ctx, u, namespace)
	}
	return nil, nil, true, errNoRules
}

// requestOf is a request with another user.
type requestOf struct {
	authorizer.Attributes
	user user.Info
}

func (a requestOf) GetUser() user.Info { return a.user }

// authorization is the context of one authorization of a caller who selects.
type authorization struct {
	context.Context
	attributes authorizer.Attributes
	// chain is the chain of the selected delegation. It is set once it is known to cover the
	// request.
	chain *delegation.Chain
	// allowedByRBAC is set once RBAC stopped at a rule that allows the request.
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
