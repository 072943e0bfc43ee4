// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package export

import (
	"fmt"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	admissionv1 "k8s.io/api/admissionregistration/v1"
)

// These are the limits of a server (KA/apis/cel/config.go upstream): the cost of one expression, and of all of one policy.
const (
	maxExpressionCost = 1_000_000
	maxPolicyCost     = 10_000_000
)

// typicalSize is the number of entries of each map and list, and characters of each text, for which an expression
// must stay within the limits. A server refuses a write of larger objects if it exceeds them.
const typicalSize = 32

// sizes estimates all unknown sizes.
type sizes struct{}

func (sizes) EstimateSize(checker.AstNode) *checker.SizeEstimate {
	return &checker.SizeEstimate{Min: 0, Max: typicalSize}
}

// questionCost is what a server counts for a question to an authorizer (AS/cel/library/cost.go upstream).
const questionCost = 350_000

func (sizes) EstimateCallCost(function, _ string, _ *checker.AstNode, _ []checker.AstNode) *checker.CallEstimate {
	if function == "check" {
		return &checker.CallEstimate{CostEstimate: checker.FixedCostEstimate(questionCost)}
	}
	return nil
}

// questions declares what the expressions use of a server's authorizer.
func questions() []cel.EnvOption {
	out := []cel.EnvOption{cel.Variable("authorizer", cel.DynType)}
	for _, name := range []string{"group", "resource", "name", "check"} {
		out = append(out, cel.Function(name, cel.MemberOverload("authorizer_"+name, []*cel.Type{cel.DynType, cel.StringType}, cel.DynType)))
	}
	return append(out, cel.Function("allowed", cel.MemberOverload("authorizer_allowed", []*cel.Type{cel.DynType}, cel.BoolType)))
}

// estimated is like that of a server's expressions, as far as those of this package go.
var estimated = sync.OnceValues(func() (*cel.Env, error) {
	return cel.NewEnv(append(questions(), cel.OptionalTypes(), cel.HomogeneousAggregateLiterals(), cel.CrossTypeNumericComparisons(true),
		cel.Variable("object", cel.DynType), cel.Variable("oldObject", cel.DynType), cel.Variable("request", cel.DynType),
		cel.Variable("variables", cel.DynType))...)
})

// checkCost returns an error if an expression of a policy does not compile, or costs more than a server may spend on
// objects of a typical size.
func checkCost(policy *admissionv1.ValidatingAdmissionPolicy) error {
	env, err := estimated()
	if err != nil {
		return err
	}
	total := uint64(0)
	judge := func(what, expression string) error {
		ast, issues := env.Compile(expression)
		if issues.Err() != nil {
			return fmt.Errorf("%s: the server would not accept the expression: %w", what, issues.Err())
		}
		cost, err := env.EstimateCost(ast, sizes{}, checker.PresenceTestHasCost(false))
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if cost.Max > maxExpressionCost {
			return fmt.Errorf("%s: with %d entries in each map and list, the expression costs up to %d, and a server spends at most %d",
				what, typicalSize, cost.Max, maxExpressionCost)
		}
		total += cost.Max
		return nil
	}
	for _, c := range policy.Spec.MatchConditions {
		if err := judge("the condition "+c.Name, c.Expression); err != nil {
			return err
		}
	}
	for _, v := range policy.Spec.Variables {
		if err := judge("the variable "+v.Name, v.Expression); err != nil {
			return err
		}
	}
	for _, v := range policy.Spec.Validations {
		if err := judge("the rule that says \""+v.Message+"\"", v.Expression); err != nil {
			return err
		}
	}
	if total > maxPolicyCost {
		return fmt.Errorf("with %d entries in each map and list, the policy costs up to %d, and a server spends at most %d",
			typicalSize, total, maxPolicyCost)
	}
	return nil
}
