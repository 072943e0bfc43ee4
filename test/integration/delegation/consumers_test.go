// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"fmt"
	"strings"
	"testing"
)

// TestConsumers checks the places in the server that decide about a user with a selected
// delegation: access reviews, reviews of oneself, escalation checks of RBAC, and token
// requests. All must take the delegation into account.
//
// Attack: granting a role beyond the delegated rights, with the caller's own rights
// Answer: 403
//
// Attack: requesting a token under a delegation, to use it without the delegation
// Answer: 403
func TestConsumers(t *testing.T) {
	roles := `{"apiGroups":["rbac.authorization.k8s.io"],"resources":["roles"],"verbs":["create"]}`
	tokens := `{"apiGroups":[""],"resources":["serviceaccounts/token"],"verbs":["create"]}`
	n, _ := stage(t, configMaps+","+roles+","+tokens)
	grant(t, n, "bot", `{"apiGroups":[""],"resources":["secrets"],"verbs":["get"]},`+roles)
	d := delegation{scope: n, rules: configMaps + "," + roles + "," + tokens}.by(t, "alice", "")
	path := rbacPath + "namespaces/" + n + "/roles"
	role := func(name, resource string) string {
		return fmt.Sprintf(`{"metadata":{"name":%q},"rules":[{"apiGroups":[""],"resources":[%q],"verbs":["get"]}]}`, name, resource)
	}
	request{as: "bot", method: "POST", path: path, body: role("own", "secrets")}.eventually(t, 201)
	request{as: "bot", method: "POST", path: path, body: role("beyond", "secrets"), under: d}.want(t, 403)
	request{as: "bot", method: "POST", path: path, body: role("within", "configmaps"), under: d}.want(t, 201)
	request{as: "bot", method: "POST", path: "/api/v1/namespaces/" + n + "/serviceaccounts/default/token",
		body: `{"spec":{}}`, under: d}.want(t, 403)

	for resource, want := range map[string]string{"configmaps": `"allowed":true`, "secrets": `"allowed":false`} {
		about := fmt.Sprintf(`"resourceAttributes":{"namespace":%q,"verb":"get","resource":%q}`, n, resource)
		request{as: "bot", method: "POST", path: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
			body: `{"spec":{` + about + `}}`, under: d}.want(t, 201, want)
		extra := strings.ReplaceAll(named(d), `"`, `\"`)
		request{as: "root", method: "POST", path: "/apis/authorization.k8s.io/v1/subjectaccessreviews",
			body: `{"spec":{"user":"bot","extra":{"authority.kube-granular.dev/selected":["` + extra + `"]},` + about + `}}`}.want(t, 201, want)
		request{as: "root", method: "POST", path: "/apis/authorization.k8s.io/v1/subjectaccessreviews",
			body: `{"spec":{"user":"other","extra":{"authority.kube-granular.dev/selected":["` + extra + `"]},` + about + `}}`}.want(t, 201, `"allowed":false`)
	}
	// An access review has no object, so it can't evaluate conditions and reports that the
	// request is not allowed.
	conditional := delegation{scope: n, rules: configMaps, more: `,"conditions":[{"expression":"true"}]`}.by(t, "alice", "")
	request{as: "bot", method: "POST", path: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
		body:  fmt.Sprintf(`{"spec":{"resourceAttributes":{"namespace":%q,"verb":"create","resource":"configmaps"}}}`, n),
		under: conditional}.want(t, 201, `"allowed":false`)
}
