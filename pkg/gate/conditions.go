// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"strings"

	"k8s.io/apiserver/pkg/admission"
	upstream "k8s.io/apiserver/pkg/authorization/authorizer"

	"kube-granular.dev/granular/permission"
)

// ConditionsAwareAuthorize returns a decision without conditions, as Authorize does, for
// permission verbs and for writes whose fields can be verified. Conditions would be evaluated at
// admission: too late for Fallback to mark the request, and for a Write to observe it. For all
// other requests it asks the configured authorizer, whose decision may have conditions.
func (g *Gate) ConditionsAwareAuthorize(ctx context.Context, a upstream.Attributes) upstream.ConditionsAwareDecision {
	if !g.withoutFields && (mayBeGranular(a) || isPermissionVerb(a.GetVerb())) {
		return upstream.ConditionsAwareDecisionFromParts(g.Authorize(ctx, a))
	}
	return g.Authorizer.ConditionsAwareAuthorize(ctx, a)
}

// EvaluateConditions lets the configured authorizer evaluate conditions. A Gate that verifies
// fields does so only for deletions and connections: for creates and updates
// ConditionsAwareAuthorize returns no conditions, so for those it returns Deny and
// ErrorConditionEvaluationNotSupported.
func (g *Gate) EvaluateConditions(ctx context.Context, decision upstream.ConditionsAwareDecision, data upstream.ConditionsData) (upstream.Decision, string, error) {
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

func isPermissionVerb(verb string) bool {
	return verb == permission.General || strings.HasPrefix(verb, permission.General+":")
}
