// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldpermission

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/test/integration/harness"
)

// TestWithoutRBAC checks that FieldPermissions are in force on a server whose --runtime-config turns the API of RBAC off, because
// another authorizer decides. The server knows no roles then. What needs roles does not start.
//
// Attack: --runtime-config turns off the roles and bindings that a feature reads, so that the server never knows what it must enforce
// Answer: the server does not start, and names the gate, the flag and the resource; FieldPermissions need no roles and are enforced
func TestWithoutRBAC(t *testing.T) {
	callers := &harness.GrantWebhook{}
	webhook := harness.WebhookKubeconfig(t, harness.ServeWebhook(t, callers))
	args := func(gates, config string) []string {
		return []string{"--demo=false", "--feature-gates", gates, "--", "--authorization-mode=Webhook",
			"--authorization-webhook-config-file=" + webhook, "--authorization-webhook-version=v1", "--runtime-config=" + config}
	}
	const version = "rbac.authorization.k8s.io/v1"
	for _, tc := range []struct{ name, gates, gate, config, resource string }{
		{"protected attributes", "ProtectedAttributes=true", "ProtectedAttributes", version + "=false", "roles"},
		{"protected attributes, one resource", "ProtectedAttributes=true,FieldPermissions=true", "ProtectedAttributes",
			version + "/clusterrolebindings=false", "clusterrolebindings"},
		{"delegations", "SelectedAuthority=true,AuthorityDelegation=true", "AuthorityDelegation", version + "=false", "roles"},
		{"delegations, one resource", "SelectedAuthority=true,AuthorityDelegation=true", "AuthorityDelegation",
			version + "/rolebindings=false", "rolebindings"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			harness.Refuses(t, "the feature gate "+tc.gate+" is on, but --runtime-config turns the resource "+tc.resource+
				".rbac.authorization.k8s.io off", args(tc.gates, tc.config)...)
		})
	}
	for _, config := range []string{version + "=false", version + "/roles=false"} {
		t.Run("FieldPermissions, "+config, func(t *testing.T) {
			c := harness.Start(t, args("FieldPermissions=true", config)...)
			harness.WaitServed(t, c, "/apis")
			closing := object("configmaps", v1alpha1.ModeEnforce, "v1", excluded(".immutable", "example.com/lock"))
			send(t, c, "", http.MethodPost, fieldPermissions, "json", closing)
			const collection = "/api/v1/namespaces/default/configmaps"
			send(t, c, "", http.MethodPost, collection, "json", map[string]any{"metadata": map[string]any{"name": "c"}})
			callers.AddCaller("ordinary", "patch")
			callers.AddCaller("locker", "patch", "granular:example.com/lock")
			for _, write := range []struct {
				user, body, says string
				code             int
			}{
				{"ordinary", `{"immutable":true}`, "granular:example.com/lock", http.StatusForbidden},
				{"ordinary", `{"data":{"a":"b"}}`, "", http.StatusOK},
				{"locker", `{"immutable":true}`, "", http.StatusOK},
			} {
				code, answer, err := harness.Request(c, write.user, http.MethodPatch, collection+"/c", harness.ContentTypes["merge"], write.body)
				if err != nil || code != write.code || !strings.Contains(answer, write.says) {
					t.Errorf("%s, %s: %d %s %v", write.user, write.body, code, answer, err)
				}
			}
			harness.Until(t, "the status is written", func() bool {
				code, answer, err := harness.Request(c, "", http.MethodGet, fieldPermissions+"/configmaps", "", "")
				stored := &v1alpha1.FieldPermission{}
				if err != nil || code != http.StatusOK || json.Unmarshal([]byte(answer), stored) != nil {
					t.Fatalf("%d %s %v", code, answer, err)
				}
				return apimeta.IsStatusConditionTrue(stored.Status.Conditions, v1alpha1.ConditionAccepted)
			})
		})
	}
}
