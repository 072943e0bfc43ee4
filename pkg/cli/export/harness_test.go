// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package export

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kubeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/cel/environment"

	"kube-granular.dev/granular/schema"
	"kube-granular.dev/pkg/modelstest"
)

// definitions are the schemas of the built-in kinds, with their permissions.
var definitions = sync.OnceValue(modelstest.BuiltIn)

func treeOf(t testing.TB, name string) *schema.Tree {
	t.Helper()
	tree, err := schema.Compile(definitions(), name)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// engine evaluates a policy as the server does, with the packages of the server.
type engine struct {
	policy    *admissionv1.ValidatingAdmissionPolicy
	validator validating.Validator
	filter    plugincel.ConditionEvaluator
}

var baseEnvironment = sync.OnceValue(func() *environment.EnvSet {
	return environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
})

func compile(t testing.TB, policy *admissionv1.ValidatingAdmissionPolicy) *engine {
	t.Helper()
	declared := plugincel.OptionalVariableDeclarations{HasAuthorizer: true}
	compiler, err := plugincel.NewCompositedCompiler(baseEnvironment())
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range policy.Spec.Variables {
		result := compiler.CompileAndStoreVariable(&validating.Variable{Name: v.Name, Expression: v.Expression}, declared, environment.NewExpressions)
		if result.Error != nil {
			t.Fatalf("variable %s: %v\n%s", v.Name, result.Error, v.Expression)
		}
	}
	var conditions, validations []plugincel.ExpressionAccessor
	for i := range policy.Spec.MatchConditions {
		conditions = append(conditions, (*matchconditions.MatchCondition)(&policy.Spec.MatchConditions[i]))
	}
	for _, v := range policy.Spec.Validations {
		validations = append(validations, &validating.ValidationCondition{Expression: v.Expression, Message: v.Message, Reason: v.Reason})
	}
	matching := compiler.CompileCondition(conditions, declared, environment.NewExpressions)
	filter := compiler.CompileCondition(validations, declared, environment.NewExpressions)
	for _, errs := range [][]error{matching.CompilationErrors(), filter.CompilationErrors()} {
		for _, err := range errs {
			t.Fatalf("%s: %v", policy.Name, err)
		}
	}
	fail := policy.Spec.FailurePolicy
	matcher := matchconditions.NewMatcher(matching, fail, "policy", "validate", policy.Name)
	return &engine{policy, validating.NewValidator(filter, matcher, compiler.CompileCondition(nil, declared, environment.NewExpressions),
		compiler.CompileCondition(nil, declared, environment.NewExpressions), fail, nil), filter}
}

// write is a request.
type write struct {
	old, new        runtime.Object // old is nil for a create
	user            string
	groups          []string
	namespace, name string
	target          *Target
	// holds are the verbs that the authorizer allows the caller.
	holds []string
}

// Authorize answers the questions of a policy about the caller.
func (w *write) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	if slices.Contains(w.holds, a.GetVerb()) && (a.GetAPIGroup() == w.target.Resource.Group || a.GetVerb() == "bypass") {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, "", nil
}

func (w *write) attributes() *admission.VersionedAttributes {
	kind := kubeschema.GroupVersionKind{}
	operation := admission.Update
	if w.old == nil {
		operation = admission.Create
	}
	attributes := admission.NewAttributesRecord(w.new, w.old, kind, w.namespace, w.name, w.target.Resource, w.target.Subresource,
		operation, nil, false, &user.DefaultInfo{Name: w.user, Groups: w.groups})
	return &admission.VersionedAttributes{Attributes: attributes, VersionedKind: kind, VersionedObject: admission.NewLazyObject(w.new), VersionedOldObject: admission.NewLazyObject(w.old)}
}

// allows reports whether the policy allows a write, and why not. broken is set if an expression failed.
func (e *engine) allows(w *write) (allowed, broken bool, why string) {
	result := e.validator.Validate(context.Background(), w.target.Resource, w.attributes(), nil, nil, celconfig.RuntimeCELCostBudget, w)
	var messages []string
	for _, d := range result.Decisions {
		if d.Action == validating.ActionDeny {
			messages = append(messages, d.Message)
			broken = broken || d.Evaluation == validating.EvalError
		}
	}
	return len(messages) == 0, broken, strings.Join(messages, "; ")
}
