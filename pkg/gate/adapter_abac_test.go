// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"fmt"
	"testing"

	"k8s.io/apiserver/pkg/authentication/user"
	upstream "k8s.io/apiserver/pkg/authorization/authorizer"
	api "k8s.io/kubernetes/pkg/apis/abac"
	"k8s.io/kubernetes/pkg/auth/authorizer/abac"
)

// TestABACIgnoresSubresources checks, for any number of verbs, that a user who may write a resource
// by ABAC holds all permission verbs on its subresources, as ABAC decides, and that a user who may
// only read holds none.
func TestABACIgnoresSubresources(t *testing.T) {
	policies := abac.PolicyList{
		{Spec: api.PolicySpec{User: "writer", Namespace: "*", Resource: "widgets", APIGroup: "*"}},
		{Spec: api.PolicySpec{User: "reader", Namespace: "*", Resource: "widgets", APIGroup: "*", Readonly: true}},
		{Spec: api.PolicySpec{User: "elsewhere", Namespace: "*", Resource: "others", APIGroup: "*"}},
	}
	for _, subresource := range []string{"", "status"} {
		for name, want := range map[string]int{"writer": 0, "reader": -1, "elsewhere": -1} {
			for n := 1; n <= 2*maxSingleQuestions; n++ {
				var verbs []string
				for i := range n {
					verbs = append(verbs, fmt.Sprintf("granular:state(%d)", i))
				}
				adapter := &authorizerAdapter{authorizer: policies, attributes: upstream.AttributesRecord{
					User: &user.DefaultInfo{Name: name}, Verb: "patch", APIGroup: "example.com", Namespace: "n", Resource: "widgets", Subresource: subresource, Name: "w", ResourceRequest: true,
				}}
				if got, err := adapter.FirstAllowed(t.Context(), verbs); got != want || err != nil {
					t.Errorf("%s, subresource %q, %d verbs: %d, %v, want %d", name, subresource, n, got, err, want)
				}
			}
		}
	}
}
