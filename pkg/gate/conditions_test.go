// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"errors"
	"testing"

	"k8s.io/apiserver/pkg/admission"
	upstream "k8s.io/apiserver/pkg/authorization/authorizer"
)

// conditional is an authorizer that knows conditions. It allows every request on one condition,
// which is always true. Without conditions it allows only the verbs of grants.
type conditional struct {
	grants
	evaluated int
}

type holds struct{}

func (holds) GetID() string          { return "example.com/holds" }
func (holds) GetType() string        { return "" }
func (holds) GetCondition() string   { return "" }
func (holds) GetDescription() string { return "" }
func (holds) Evaluate(context.Context, upstream.ConditionsData) upstream.ConditionEvaluationResult {
	return upstream.ConditionEvaluationResultBoolean(true)
}

func (c *conditional) ConditionsAwareAuthorize(context.Context, upstream.Attributes) upstream.ConditionsAwareDecision {
	return upstream.ConditionsAwareDecisionConditionsMap(nil, nil, []upstream.Condition{holds{}})
}

func (c *conditional) EvaluateConditions(context.Context, upstream.ConditionsAwareDecision, upstream.ConditionsData) (upstream.Decision, string, error) {
	c.evaluated++
	return upstream.DecisionAllow, "", nil
}

// conditionsData is the data that admission passes to the evaluation of conditions.
type conditionsData struct {
	upstream.ConditionsData
	operation admission.Operation
}

func (d conditionsData) GetOperation() upstream.AdmissionOperation {
	return upstream.AdmissionOperation(d.operation)
}

// letsThrough reports whether a request passes an authorization filter that supports conditions,
// as upstream plans one. If the decision has conditions, they are evaluated at admission.
func letsThrough(ctx context.Context, a upstream.Authorizer, attributes upstream.Attributes, operation admission.Operation) bool {
	decision := a.ConditionsAwareAuthorize(ctx, attributes)
	if decision.IsUnconditional() {
		return decision.IsAllow()
	}
	evaluated, _, _ := a.EvaluateConditions(ctx, decision, conditionsData{operation: operation})
	return evaluated == upstream.DecisionAllow
}

// TestConditions checks that the Gate allows no write whose fields can be verified, and no
// permission verb, on a condition. It allows other requests on a condition.
//
// Attack: a write, or a permission, that an authorizer allows on a condition, with a filter that evaluates
// conditions
// Answer: no opinion, the condition is not evaluated
// Held by: TestConditionsOfWrites
func TestConditions(t *testing.T) {
	for verb, tc := range map[string]struct {
		operation admission.Operation
		want      bool
	}{
		"create":                {admission.Create, false},
		"update":                {admission.Update, false},
		"patch":                 {admission.Update, false},
		"granular":              {admission.Update, false},
		"granular:labels":       {admission.Update, false},
		"granular:label(a.com)": {admission.Update, false},
		"delete":                {admission.Delete, true},
		"deletecollection":      {admission.Delete, true},
		"connect":               {admission.Connect, true},
	} {
		t.Run(verb, func(t *testing.T) {
			configured := &conditional{}
			if got := letsThrough(t.Context(), New(configured), attributes(verb), tc.operation); got != tc.want {
				t.Errorf("let through: %t", got)
			}
			if evaluated := configured.evaluated > 0; evaluated != tc.want {
				t.Errorf("conditions evaluated: %t", evaluated)
			}
			unconditional := &conditional{grants: grants{allow: []string{verb}}}
			if !tc.want && !letsThrough(t.Context(), New(unconditional), attributes(verb), tc.operation) {
				t.Error("refused, although it is allowed without a condition")
			}
		})
	}
}

// TestConditionsOfWrites checks that EvaluateConditions evaluates no conditions for a write, even
// if the decision did not come from the Gate.
func TestConditionsOfWrites(t *testing.T) {
	configured := &conditional{}
	decision := configured.ConditionsAwareAuthorize(t.Context(), attributes("update"))
	for _, data := range []upstream.ConditionsData{
		nil, conditionsData{operation: admission.Create}, conditionsData{operation: admission.Update}, conditionsData{operation: "OTHER"},
	} {
		got, _, err := New(configured).EvaluateConditions(t.Context(), decision, data)
		if got != upstream.DecisionDeny || !errors.Is(err, upstream.ErrorConditionEvaluationNotSupported) {
			t.Errorf("%v: %v, %v", data, got, err)
		}
	}
	if configured.evaluated > 0 {
		t.Error("the conditions were evaluated")
	}
}
