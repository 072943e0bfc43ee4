// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"

	"k8s.io/apiserver/pkg/admission"
	upstream "k8s.io/apiserver/pkg/authorization/authorizer"

	"kube-granular.dev/granular/permission"
	"kube-granular.dev/pkg/rbacindex"
)

// ConditionsAwareAuthorize returns the decision of Authorize, which has no conditions, for checks
// of permission verbs and for creates, updates and patches. Conditions of an authorizer are
// evaluated at admission. That is too late for these requests: Fallback, which marks a request as
// granular, runs before, and so does the observation of the caller's change. For all other
// requests, and for all requests if the Gate verifies no fields, ConditionsAwareAuthorize returns
// the decision of the configured authorizer, which can have conditions. As in Authorize, RBAC reads
// only the bindings of the caller, if the Gate verifies fields.
func (g *Gate) ConditionsAwareAuthorize(ctx context.Context, a upstream.Attributes) upstream.ConditionsAwareDecision {
	if g.withoutFields {
		return g.Authorizer.ConditionsAwareAuthorize(ctx, a)
	}
	if mayBeGranular(a) || permission.IsVerb(a.GetVerb()) {
		return upstream.ConditionsAwareDecisionFromParts(g.Authorize(ctx, a))
	}
	return g.Authorizer.ConditionsAwareAuthorize(rbacindex.For(ctx, a), a)
}

// EvaluateConditions evaluates the conditions of a decision of ConditionsAwareAuthorize, by the
// configured authorizer. If the Gate verifies fields, decisions about creates and updates have no
// conditions. So EvaluateConditions then supports only deletions and connections. For other
// operations it returns Deny and ErrorConditionEvaluationNotSupported.
func (g *Gate) EvaluateConditions(
	ctx context.Context, decision upstream.ConditionsAwareDecision, data upstream.ConditionsData,
) (upstream.Decision, string, error) {
	if g.withoutFields {
		return g.Authorizer.EvaluateConditions(ctx, decision, data)
	}
	if data != nil {
		switch admission.Operation(data.GetOperation()) {
		case admission.Delete, admission.Connect:
			return g.Authorizer.EvaluateConditions(ctx, decision, data)
		}
	}
	return upstream.DecisionDeny, "", upstream.ErrorConditionEvaluationNotSupported
}
