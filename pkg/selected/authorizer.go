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

// Authorizer is the configured authorizer, for callers who select nothing. For others it is
// RBAC, restricted by Visit, unless the configured authorizer denies.
type Authorizer struct {
	authorizer.Authorizer
	// rbac answers for roles alone. It is nil where RBAC is not configured: bindings and
	// roles may lie there that nobody meant to have an effect.
	rbac authorizer.Authorizer
	// delegations are those that can be selected, nil where none can.
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

// New returns an authorizer for callers who may select. RBAC is part of configured, if it
// is configured. The index may be nil: then no delegation can be selected.
func New(configured authorizer.Authorizer, delegations *delegation.Index) *Authorizer {
	return &Authorizer{Authorizer: configured, rbac: rbacOf(configured), delegations: delegations}
}

func rbacOf(configured any) authorizer.Authorizer {
	if c, ok := configured.(hasRBAC); ok {
		return c.RBAC()
	}
	return nil
}

var errNoRBAC = errors.New("no role can be selected, because the server is not configured with RBAC")

var errNoRules = errors.New("the rules of the caller are not known")

// Authorize asks the configured authorizer. Where the caller selected a role, what it allows
// counts for nothing unless RBAC allows it by that role; what it denies stays denied.
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

// selected asks the configured authorizer, in which RBAC sees what was selected.
func (a *Authorizer) selected(asking *authorization, s *User, attributes authorizer.Attributes) (authorizer.Decision, string, error) {
	decision, reason, err := a.Authorizer.Authorize(asking, attributes)
	if decision == authorizer.DecisionAllow && !asking.allowedByRBAC {
		// Somebody else allowed it, before RBAC was asked.
		decision, reason, err = a.rbac.Authorize(asking, attributes)
	}
	if decision == authorizer.DecisionNoOpinion {
		reason = join(reason, fmt.Sprintf("the selected %s does not allow it, or is not the caller's", describe(s.reference)))
	}
	return decision, reason, err
}

func join(reasons ...string) string {
	if reasons[0] == "" {
		reasons = reasons[1:]
	}
	return strings.Join(reasons, "\n")
}

// ConditionsAwareAuthorize never allows a caller who selects on a condition.
func (a *Authorizer) ConditionsAwareAuthorize(ctx context.Context, attributes authorizer.Attributes) authorizer.ConditionsAwareDecision {
	if !selects(attributes.GetUser()) {
		return a.Authorizer.ConditionsAwareAuthorize(ctx, attributes)
	}
	return authorizer.ConditionsAwareDecisionFromParts(a.Authorize(ctx, attributes))
}

// RulesFor returns the selected rules of a caller who selects.
func (a *Authorizer) RulesFor(ctx context.Context, u user.Info, namespace string) ([]authorizer.ResourceRuleInfo, []authorizer.NonResourceRuleInfo, bool, error) {
	return rules{a.Authorizer, a.rbac}.RulesFor(ctx, u, namespace)
}

// rules are those of the configured authorizer, and of RBAC for a caller who selects.
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
			// Rules that the delegator has in part are not among them, and conditional ones.
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

// requestOf is a request of another user.
type requestOf struct {
	authorizer.Attributes
	user user.Info
}

func (a requestOf) GetUser() user.Info { return a.user }

// authorization is the context of what is asked about a caller who selects.
type authorization struct {
	context.Context
	attributes authorizer.Attributes
	// chain is that of the delegation that was selected, once it is known to reach as far.
	chain *delegation.Chain
	// allowedByRBAC is set once RBAC stopped at a rule that allows it.
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
