// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/cel/environment"

	"kube-granular.dev/pkg/gate/convert"
)

// samePolicy has the validations that refuse what the entries of BenchmarkPodBesidePolicy refuse.
var samePolicy = []string{
	`(has(object.spec.hostNetwork) && object.spec.hostNetwork) == (has(oldObject.spec.hostNetwork) && oldObject.spec.hostNetwork) ||
	authorizer.group("").resource("pods").namespace("n").name("p").check("granular:acme.io/hostNetwork").allowed()`,
	`(has(object.metadata.finalizers) ? object.metadata.finalizers : []) == (has(oldObject.metadata.finalizers) ? oldObject.metadata.finalizers : []) ||
	authorizer.group("").resource("pods").namespace("n").name("p").check("granular:acme.io/finalizers").allowed()`,
}

// BenchmarkPodBesidePolicy measures an ordinary update of a pod's label by what it costs to close two other
// fields: with entries in the Gate, and with the same rule as a ValidatingAdmissionPolicy, evaluated with the
// packages of the server. The conversion of both objects is part of either.
func BenchmarkPodBesidePolicy(b *testing.B) {
	old, changed := pod(b, "a"), pod(b, "b")
	b.Run("entries", func(b *testing.B) {
		e := entriesOf(b, "pods", true, ".spec.hostNetwork acme.io/hostNetwork excluded", ".metadata.finalizers acme.io/finalizers excluded")
		g, target, ctx := New(&grants{}, WithFieldPermissions(withEntries(e))), podTarget(b), requestContext("update")
		b.ReportAllocs()
		for b.Loop() {
			pass(b, g, ctx, target, changed, old)
		}
	})
	b.Run("policy", func(b *testing.B) {
		declared := plugincel.OptionalVariableDeclarations{HasAuthorizer: true}
		compiler, err := plugincel.NewCompositedCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
		if err != nil {
			b.Fatal(err)
		}
		var validations []plugincel.ExpressionAccessor
		for _, expression := range samePolicy {
			validations = append(validations, &validating.ValidationCondition{Expression: expression})
		}
		filter, none := compiler.CompileCondition(validations, declared, environment.StoredExpressions), compiler.CompileCondition(nil, declared, environment.StoredExpressions)
		if errs := filter.CompilationErrors(); len(errs) > 0 {
			b.Fatal(errs)
		}
		validator := validating.NewValidator(filter, nil, none, none, nil, nil)
		target, kind, ctx := podTarget(b), corev1.SchemeGroupVersion.WithKind("Pod"), requestContext("update")
		b.ReportAllocs()
		for b.Loop() {
			updated, err := convert.Versioned(target, changed)
			if err != nil {
				b.Fatal(err)
			}
			stored, err := convert.Versioned(target, old)
			if err != nil {
				b.Fatal(err)
			}
			record := admission.NewAttributesRecord(changed, old, kind, "n", "p", target.Resource, "", admission.Update, nil, false, &user.DefaultInfo{Name: "jane"})
			attributes := &admission.VersionedAttributes{Attributes: record, VersionedKind: kind,
				VersionedObject: admission.NewLazyObject(updated.(apiruntime.Object)), VersionedOldObject: admission.NewLazyObject(stored.(apiruntime.Object))}
			for _, d := range validator.Validate(ctx, target.Resource, attributes, nil, nil, celconfig.RuntimeCELCostBudget, &grants{}).Decisions {
				if d.Action == validating.ActionDeny {
					b.Fatal(d.Message)
				}
			}
		}
	})
}
