// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"fmt"
	"strings"
	"testing"
)

// TestRolesStayHidden checks that a caller who may not get a role learns nothing about it by
// delegating it: the answers are those for a role that does not exist. With the verb get, the
// answers say what is wrong.
//
// Attack: delegating a role that the caller may not read, to learn whether it exists and what it grants
// Answer: 403, the same as for a role that does not exist
//
// Attack: delegating in a namespace, to learn whether it exists
// Answer: 403, the same as for a namespace that does not exist
func TestRolesStayHidden(t *testing.T) {
	n, _ := stage(t, configMaps)
	apply(t,
		rbacPath+"namespaces/"+n+"/roles", `{"metadata":{"name":"full"},"rules":[{"apiGroups":[""],"resources":["secrets"],"verbs":["get"]}]}`,
		rbacPath+"namespaces/"+n+"/roles", `{"metadata":{"name":"empty"}}`,
	)
	// try delegates a role as alice, and returns the answer without the role's name.
	try := func(role string, status int, says ...string) string {
		t.Helper()
		d := delegation{scope: n, rules: `"roleRef":{"kind":"Role","name":"` + role + `"}`}
		got := request{as: "alice", method: "POST", path: delegations, body: d.body(n + "-role")}.want(t, status, says...)
		return strings.ReplaceAll(got.body, `\"`+role+`\"`, "NAME")
	}
	none := try("none", 403, "you do not hold all permissions")
	for _, role := range []string{"full", "empty"} {
		if got := try(role, 403); got != none {
			t.Errorf("role %s differs from one that does not exist:\n%s\n%s", role, got, none)
		}
	}
	grant(t, n, "alice", `{"apiGroups":["rbac.authorization.k8s.io"],"resources":["roles"],"verbs":["get"]}`)
	request{as: "root", method: "POST", path: "/apis/authorization.k8s.io/v1/subjectaccessreviews"}.
		reviewed(t, "alice", n, "get", [2]string{"rbac.authorization.k8s.io", "roles"})
	try("none", 422, "spec.roleRef.name", "Not found")
	try("full", 403, "secrets")
	try("empty", 422, "has no rules")

	inNamespace := func(namespace string) string {
		t.Helper()
		d := delegation{scope: namespace, rules: configMaps}
		got := request{as: "alice", method: "POST", path: delegations, body: d.body(n + "-namespace")}.want(t, 403, "not currently held")
		return strings.ReplaceAll(got.body, namespace, "NAME")
	}
	if exists, missing := inNamespace("kube-system"), inNamespace("no-such"); exists != missing {
		t.Errorf("a namespace differs from one that does not exist:\n%s\n%s", exists, missing)
	}
	// Whoever holds what is delegated is told, and creates no delegation without a namespace's UID.
	request{as: "root", method: "POST", path: delegations,
		body: delegation{scope: "no-such", rules: configMaps}.body(n + "-missing")}.want(t, 404, "no-such")
}

// TestPolicyRolesStayHidden checks the same for policies: whoever may write policies, and not get
// a role, learns nothing about it.
//
// Attack: a policy with a role that its author may not read, to learn whether it exists and what it grants
// Answer: 403, the same as for a role that does not exist
func TestPolicyRolesStayHidden(t *testing.T) {
	everywhere(t, "writer", `{"apiGroups":["authority.kube-granular.dev"],"resources":["authoritydelegationpolicies"],"verbs":["create"]}`)
	everywhere(t, "writer", `{"apiGroups":["authority.kube-granular.dev"],"resources":["authoritydelegations"],"verbs":["delegate"]}`)
	empty := fmt.Sprintf("empty-%d", unique.Add(1))
	apply(t, rbacPath+"clusterroles", `{"metadata":{"name":"`+empty+`"}}`)
	try := func(role string, status int, says ...string) string {
		t.Helper()
		p := policy{namespace: "default", rules: `"roleRef":{"kind":"ClusterRole","name":"` + role + `"}`}
		got := request{as: "writer", method: "POST", path: policies + "?dryRun=All", body: p.body("writers")}.want(t, status, says...)
		return strings.ReplaceAll(got.body, `\"`+role+`\"`, "NAME")
	}
	none := try("none", 403, "you do not hold all permissions")
	for _, role := range []string{"view", empty} {
		if got := try(role, 403); got != none {
			t.Errorf("role %s differs from one that does not exist:\n%s\n%s", role, got, none)
		}
	}
	everywhere(t, "writer", `{"apiGroups":["rbac.authorization.k8s.io"],"resources":["clusterroles"],"verbs":["get"]}`)
	try("none", 422, "spec.roleRef.name", "Not found")
	try("view", 403, "not currently held")
	try(empty, 422, "has no rules")
}
