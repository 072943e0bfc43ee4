// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kube-granular.dev/pkg/audit"
	"kube-granular.dev/test/integration/harness"
)

// TestAudit checks that an audit event shows which permissions a caller used, which it lacked,
// and which binding allowed the request.
func TestAudit(t *testing.T) {
	const supersafe = "system:serviceaccount:default:supersafe"
	const granted = `RBAC: allowed by RoleBinding "supersafe/default" of ClusterRole "supersafe" to ServiceAccount "supersafe/default"`
	const web = "/apis/apps/v1/namespaces/default/deployments/web"
	tests := map[string]struct {
		user, path, patch string
		status            int
		want              map[string]string
	}{
		"covered": {supersafe, web, `{"metadata":{"labels":{"super.safe.com/audited":"1"},"annotations":{"super.safe.com/audited":"1"}}}`, http.StatusOK, map[string]string{
			audit.MarkedAnnotation:      "true",
			audit.PermissionsAnnotation: "granular:annotation(super.safe.com) granular:label(super.safe.com)",
			harness.ReasonAnnotation:    granted,
		}},
		"not covered": {supersafe, web, `{"metadata":{"labels":{"super.safe.com/audited":"2"}},"spec":{"replicas":9}}`, http.StatusForbidden, map[string]string{
			audit.MarkedAnnotation:   "true",
			audit.MissingAnnotation:  "granular:replicas granular:specification",
			harness.ReasonAnnotation: granted,
		}},
		"an ordinary caller": {"admin-like", web, `{"metadata":{"labels":{"audited":"3"}}}`, http.StatusForbidden, map[string]string{
			harness.ReasonAnnotation: "",
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			path := tc.path + "?fieldManager=audit-" + strings.ReplaceAll(name, " ", "-")
			status, answer, err := harness.Request(on, tc.user, http.MethodPatch, path, harness.ContentTypes["merge"], tc.patch)
			if err != nil {
				t.Fatal(err)
			}
			if status != tc.status {
				t.Fatalf("%d %s", status, answer)
			}
			var got map[string]string
			harness.Until(t, "there is an audit event of "+path, func() bool {
				got = harness.Annotations(t, auditLog, path)
				return got != nil
			})
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
