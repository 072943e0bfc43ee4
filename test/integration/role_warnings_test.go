// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"kube-granular.dev/test/integration/harness"
)

// TestRoleWarnings checks that the author of a role is warned about misspelled verbs, and that
// the role is stored all the same.
func TestRoleWarnings(t *testing.T) {
	s := onStage(t)
	const roles, clusterRoles = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles", "/apis/rbac.authorization.k8s.io/v1/clusterroles"
	body := func(name string, r rbacv1.PolicyRule) string {
		data, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf(`{"metadata":{"name":%q},"rules":[%s]}`, name, data)
	}
	for i, tc := range []struct {
		resource string
		verbs    []string
		want     string
	}{
		{"deployments.apps", []string{"get", "granular", "granular:podTemplateImage"}, ""},
		{"deployments.apps", []string{"get", "update"}, ""},
		{"deployments.apps", []string{"*"}, ""},
		{"robots.example.com", []string{"granular", "granular:example.com/arm"}, ""},
		{"pods", []string{"granular", "granular:imagge"},
			"rules[0].verbs[1]: no field of these resources has the permission granular:imagge; did you mean granular:image?"},
		{"deployments.apps", []string{"granular", "granular:image"}, "; did you mean granular:podTemplateImage?"},
		{"deployments.apps", []string{"granular", "granular:Replicas"}, "did you mean granular:replicas?"},
		{"deployments.apps", []string{"granular", "granular:label"}, "granular:label needs a parameter, the label-key"},
		{"deployments.apps", []string{"granular", "granular:label(*)"},
			"* has no special meaning in a permission verb"},
		{"deployments.apps", []string{"granular", "granular: labels"}, "did you mean granular:labels?"},
		{"deployments.apps", []string{"granular:replicas"},
			"rules[0]: permissions on deployments.apps without the verb granular"},
		{"robots.example.com", []string{"granular", "granular:lables"}, "did you mean granular:labels?"},
		{"deployments.apps", []string{"granular", "granular:label(example.com/b)", "granular:label(/b)"}, ""},
		{"deployments.apps", []string{"granular", "granular:label(/a/b)"}, "never matches"},
		{"deployments.apps", []string{"granular", "granular:label(a b)"}, "must be percent-escaped"},
	} {
		for _, collection := range []string{roles, clusterRoles} {
			name := fmt.Sprintf("warned-%d", i)
			written := rule(tc.resource, tc.verbs...)
			created := s.MustSend(t, "POST", collection, harness.ContentTypes["json"], body(name, written))
			// A change of a label leaves the rules as they are, so it gives no warnings again.
			labeled := s.MustSend(t, "PATCH", collection+"/"+name, harness.ContentTypes["merge"], `{"metadata":{"labels":{"a":"b"}}}`)
			s.MustSend(t, "PUT", collection+"/"+name, harness.ContentTypes["json"], body(name, rule(tc.resource, "get")))
			updated := s.MustSend(t, "PUT", collection+"/"+name, harness.ContentTypes["json"], body(name, written))
			for how, a := range map[string]harness.Answer{"created": created, "updated": updated} {
				warnings := strings.Join(a.Warnings(), "\n")
				if tc.want == "" && warnings != "" || !strings.Contains(unquoted(warnings), tc.want) {
					t.Errorf("%s %s %q: warned of %q, want %q", how, tc.resource, tc.verbs, warnings, tc.want)
				}
			}
			if w := labeled.Warnings(); len(w) > 0 {
				t.Errorf("%q: a label was changed: warned of %q", tc.verbs, w)
			}
		}
	}
}

// unquoted removes the escapes from the value of a warning header.
func unquoted(header string) string { return strings.ReplaceAll(header, `\"`, `"`) }

// TestRoleWarningsWithTheGateOff checks that the server gives no such warnings with the gate
// off.
func TestRoleWarningsWithTheGateOff(t *testing.T) {
	s := harness.StartServer(t, "--feature-gates", "GranularAuthorization=false")
	a := s.MustSend(t, "POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", harness.ContentTypes["json"],
		`{"metadata":{"name":"r"},"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["granular:imagge"]}]}`)
	if w := a.Warnings(); len(w) > 0 {
		t.Errorf("warned of %q", w)
	}
}
