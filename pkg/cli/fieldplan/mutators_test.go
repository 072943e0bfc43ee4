// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldplan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestMutators checks which webhooks and policies a plan names: those for the resource, for a subresource of it, and for
// resources with a template in which entries hold.
func TestMutators(t *testing.T) {
	for name, tc := range map[string]struct {
		groups, resources []string
		named             bool
	}{
		"the resource":            {[]string{""}, []string{"pods"}, true},
		"all":                     {[]string{"*"}, []string{"*"}, true},
		"all with subresources":   {[]string{"*"}, []string{"*/*"}, true},
		"its subresources":        {[]string{""}, []string{"pods/*"}, true},
		"one subresource":         {[]string{""}, []string{"configmaps", "pods/resize"}, true},
		"one subresource of all":  {[]string{""}, []string{"*/status"}, true},
		"a template":              {[]string{"apps"}, []string{"deployments"}, true},
		"a template's scale":      {[]string{"apps"}, []string{"deployments/scale"}, true},
		"another group":           {[]string{"apps"}, []string{"pods"}, false},
		"another resource":        {[]string{""}, []string{"configmaps", "podtemplates"}, false},
		"a name that begins same": {[]string{""}, []string{"podsets"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			rule := admissionv1.RuleWithOperations{Rule: admissionv1.Rule{APIGroups: tc.groups, Resources: tc.resources}}
			p := &Plan{FieldPermission: "pods", Templates: []string{"deployments.apps"}}
			webhooks := &admissionv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "c"}}
			webhooks.Webhooks = []admissionv1.MutatingWebhook{
				{Name: "other"}, {Name: "w", Rules: []admissionv1.RuleWithOperations{{}, rule}}}
			p.AddWebhooks(webhooks)
			policy := &admissionv1.MutatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "m"}}
			policy.Spec.MatchConstraints = &admissionv1.MatchResources{
				ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: rule}}}
			p.AddPolicy(policy)
			policy.Spec.ParamKind = &admissionv1.ParamKind{APIVersion: "v1", Kind: "ConfigMap"}
			p.AddPolicy(policy)
			p.AddPolicy(&admissionv1.MutatingAdmissionPolicy{})
			var want []string
			if tc.named {
				want = []string{"webhook w of c", "MutatingAdmissionPolicy m",
					"MutatingAdmissionPolicy m (whoever may write its parameters, of kind ConfigMap, chooses what it sets)"}
			}
			if diff := cmp.Diff(want, p.Webhooks); diff != "" {
				t.Error(diff)
			}
		})
	}
}
