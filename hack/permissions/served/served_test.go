// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package served

import "testing"

func TestResource(t *testing.T) {
	tests := []struct{ prefix, path, want string }{
		{"/api/v1", "/api/v1/nodes/{name}", "nodes"},
		{"/api/v1", "/api/v1/namespaces", "namespaces"},
		{"/api/v1", "/api/v1/namespaces/{name}/finalize", "namespaces/finalize"},
		{"/api/v1", "/api/v1/namespaces/{namespace}/pods", "pods"},
		{"/api/v1", "/api/v1/namespaces/{namespace}/pods/{name}/binding", "pods/binding"},
		{"/apis/apps/v1", "/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale", "deployments.apps/scale"},
		{"/apis/rbac.authorization.k8s.io/v1", "/apis/rbac.authorization.k8s.io/v1/clusterroles",
			"clusterroles.rbac.authorization.k8s.io"},
	}
	for _, tc := range tests {
		if got := resource(tc.prefix, tc.path); got != tc.want {
			t.Errorf("%s: got %q, wanted %q", tc.path, got, tc.want)
		}
	}
}
