// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"net/http"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
)

// TestRehearsal checks that a caller can try a role of single fields before anybody is bound to it, if
// its own rules cover all rules of the role. Then it can do what the role allows, and nothing else of
// its own. Each caller that can not lacks exactly one thing.
//
// Attack: selecting a role that nobody is bound to, while holding all of its rules but one verb
// Answer: 403, the same as for a role that does not exist
//
// Attack: selecting an unbound role with the verbs `bind` or `escalate` on it
// Answer: 403, the caller must hold the rules themselves
//
// Attack: selecting an unbound role whose permission verbs the caller's `update` and `patch` include, for a policy that asks for such a verb
// Answer: 403, the verbs must be among the caller's own rules
func TestRehearsal(t *testing.T) {
	policy(t, on, "rehearsed", "nobody")
	policy(t, on, "unrehearsed", "nobody")
	const (
		roles       = rbacPath + "namespaces/rehearsed/roles"
		deployments = "/apis/apps/v1/namespaces/rehearsed/deployments"
		web         = deployments + "/web"
		object      = `{"metadata":{"name":"web"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`
	)
	grants := func(verbs string) string {
		return `"rules":[{"apiGroups":["apps"],"resources":["deployments"],"verbs":[` + verbs + `]}]}`
	}
	const scaling = `"get","granular","granular:replicas"`
	apply(t, on, deployments, object, strings.Replace(deployments, "rehearsed", "unrehearsed", 1), object,
		roles, `{"metadata":{"name":"scaler"},`+grants(scaling),
		roles, `{"metadata":{"name":"empty"},"rules":[]}`,
		rbacPath+"clusterroles", `{"metadata":{"name":"rehearsed-scaler"},`+grants(scaling))
	for user, verbs := range map[string]string{
		"all":      `"*"`,
		"same":     scaling + `,"patch","delete"`,
		"less":     `"get","granular","granular:image","patch","delete"`,
		"general":  `"get","granular","granular:specification","patch","delete"`,
		"ordinary": `"get","create","update","patch","delete"`,
	} {
		apply(t, on, roles, `{"metadata":{"name":"of-`+user+`"},`+grants(verbs))
		bind(t, on, "rehearsed", user, "Role", "of-"+user)
	}
	apply(t, on, roles, `{"metadata":{"name":"of-binder"},"rules":[{"apiGroups":["rbac.authorization.k8s.io"],"resources":["roles"],"verbs":["*"]},{"apiGroups":["apps"],"resources":["deployments"],"verbs":["patch","delete"]}]}`)
	bind(t, on, "rehearsed", "binder", "Role", "of-binder")

	send := func(as authenticationv1.UserInfo, method, path, body string, selects ...string) request {
		return request{as: as, method: method, path: path + "?dryRun=All", body: body, contentType: "application/merge-patch+json", selects: selects}
	}
	const replicas, paused = `{"spec":{"replicas":3}}`, `{"spec":{"paused":true}}`
	scaler, everywhere := role("rehearsed", "scaler"), clusterRole("rehearsed-scaler")
	for _, user := range []string{"all", "same", "less", "general", "ordinary", "binder"} {
		// The caller's own rights allow much more than the role.
		send(person(user), http.MethodPatch, web, paused).eventually(t, 200)
		send(person(user), http.MethodDelete, web, "").want(t, 200)
	}
	for user, may := range map[string]bool{"all": true, "same": true, "less": false, "general": false, "ordinary": false, "binder": false} {
		for _, selects := range []string{scaler, everywhere} {
			if may {
				send(person(user), http.MethodPatch, web, replicas, selects).eventually(t, 200)
				refused := send(person(user), http.MethodPatch, web, paused, selects).want(t, 403)
				if !strings.Contains(refused.body, "granular:pause") {
					t.Errorf("%s: the refusal does not name what the role lacks: %s", user, refused)
				}
				send(person(user), http.MethodGet, web, "", selects).want(t, 200)
				send(person(user), http.MethodDelete, web, "", selects).want(t, 403)
				continue
			}
			unknown := strings.Replace(selects, "scaler", "nobodys", 1)
			got := send(person(user), http.MethodPatch, web, replicas, selects).want(t, 403)
			other := send(person(user), http.MethodPatch, web, replicas, unknown).want(t, 403)
			if !strings.Contains(got.body, "or the caller does not hold all of its permissions") || strings.ReplaceAll(got.body, "scaler", "nobodys") != other.body {
				t.Errorf("%s: %s\nfor a role that does not exist: %s", user, got, other)
			}
		}
		// The rules count in their namespace only, and a role without rules allows nothing.
		elsewhere := strings.Replace(web, "rehearsed", "unrehearsed", 1)
		send(person(user), http.MethodPatch, elsewhere, replicas, everywhere).want(t, 403)
		send(person(user), http.MethodPatch, elsewhere, replicas, scaler).want(t, 403)
		send(person(user), http.MethodPatch, web, replicas, role("rehearsed", "empty")).want(t, 403)
	}
	send(master, http.MethodPatch, web, replicas, scaler).want(t, 200)
	send(master, http.MethodPatch, web, paused, scaler).want(t, 403)

	// A role that gets a rule more, or is deleted, counts no longer.
	send(master, http.MethodPatch, roles+"/scaler", `{`+grants(scaling+`,"list"`)).want(t, 200)
	if got := (request{as: master, method: http.MethodPatch, path: roles + "/scaler", body: `{` + grants(scaling+`,"list"`), contentType: "application/merge-patch+json"}).to(t, on); got.status != 200 {
		t.Fatal(got)
	}
	send(person("same"), http.MethodPatch, web, replicas, scaler).eventually(t, 403)
	send(person("all"), http.MethodPatch, web, replicas, scaler).want(t, 200)
	request{as: master, method: http.MethodDelete, path: roles + "/scaler"}.want(t, 200)
	send(person("all"), http.MethodPatch, web, replicas, scaler).eventually(t, 403)
}
