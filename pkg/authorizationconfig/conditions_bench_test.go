// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authorizationconfig

import (
	"fmt"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	apiserverapi "k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/apis/apiserver/validation"
	authorizationcel "k8s.io/apiserver/pkg/authorization/cel"
)

// granularRequest has the verbs of the questions of a granular request that changes one label.
var granularRequest = []string{"patch", "granular", "granular:metadata", "granular:labels", "granular:label(own.example.com)", "get"}

// conditions are match conditions as KEP-3221 proposes to measure, and those of docs/authorizers.md.
var conditions = []struct{ name, expression string }{
	{"resource requests", "has(request.resourceAttributes)"},
	{"one namespace", "request.resourceAttributes.namespace == 'kube-system'"},
	{"one resource", "request.resourceAttributes.group == 'apps' && request.resourceAttributes.resource == 'deployments'"},
	{"not a group", "!('system:serviceaccounts:kube-system' in request.groups)"},
	{"not some users", "!request.user.startsWith('system:')"},
	{"ordinary writes", "request.resourceAttributes.verb in ['create', 'update', 'patch', 'delete', 'deletecollection']"},
	{"questions about fields", "request.resourceAttributes.verb == 'granular' || request.resourceAttributes.verb.startsWith('granular:')"},
	{"one permission", "request.resourceAttributes.verb.startsWith('granular:') && request.resourceAttributes.verb.substring(9).split('(')[0] == 'label'"},
	{"one parameter", "request.resourceAttributes.verb == 'granular:label(own.example.com)'"},
}

// BenchmarkMatchConditions measures one match condition for all questions of a granular request, for
// callers in 3 and in 100 groups.
func BenchmarkMatchConditions(b *testing.B) {
	for _, tc := range conditions {
		matcher, errs := validation.ValidateAndCompileMatchConditions(authorizationcel.NewDefaultCompiler(),
			[]apiserverapi.WebhookMatchCondition{{Expression: tc.expression}})
		if err := errs.ToAggregate(); err != nil {
			b.Fatal(err)
		}
		for _, groups := range []int{3, 100} {
			var reviews []*authorizationv1.SubjectAccessReview
			for _, verb := range granularRequest {
				review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: "hank",
					ResourceAttributes: &authorizationv1.ResourceAttributes{
						Namespace: "default", Verb: verb, Group: "apps", Version: "v1", Resource: "deployments", Name: "web"}}}
				for i := range groups {
					review.Spec.Groups = append(review.Spec.Groups, fmt.Sprintf("example.com:group-%d", i))
				}
				reviews = append(reviews, review)
			}
			b.Run(fmt.Sprintf("%s/groups=%d", tc.name, groups), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					for _, review := range reviews {
						if _, err := matcher.Eval(b.Context(), review); err != nil {
							b.Fatal(err)
						}
					}
				}
			})
		}
	}
}
