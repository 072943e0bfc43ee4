// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"kube-granular.dev/api/selection"
)

// bindDelegator binds users to the role with which the server lets users delegate, and waits until
// they may create delegations.
func bindDelegator(t *testing.T, users ...string) {
	t.Helper()
	for _, user := range users {
		apply(t, rbacPath+"clusterrolebindings", fmt.Sprintf(`{"metadata":{"name":"b-%d"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"system:kube-granular:authority-delegator"},
			"subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":%q}]}`, unique.Add(1), user))
		request{as: user, method: "GET", path: delegations}.eventually(t, 200)
	}
}

// TestEndingOwnDelegations checks that the bootstrap role lets a delegator end its own delegations, or
// make them end earlier, and nothing else: not those of others, nor by an account that has its name
// now, nor under a selection; and that no other field changes.
//
// Attack: ending, extending or changing the delegation of another user by the subresource `expiration`, also as a new user of the same name, or under a selection
// Answer: 403; 422 for a later time; other fields stay as they are
func TestEndingOwnDelegations(t *testing.T) {
	n, _ := stage(t, configMaps)
	bindDelegator(t, "ender", "stranger")
	for _, user := range []string{"ender", "stranger"} {
		grant(t, n, user, configMaps)
		request{as: user, method: "GET", path: maps(n)}.eventually(t, 200)
	}
	d := delegation{scope: n, rules: configMaps}.by(t, "ender", "")
	use := request{as: "bot", method: "GET", path: maps(n), under: d}
	use.want(t, 200)
	end := func(as string, until time.Time, more string) request {
		return request{as: as, method: "PATCH", path: delegations + "/" + d + "/expiration", contentType: mergePatch,
			body: `{"spec":{"expirationTimestamp":"` + until.UTC().Format(time.RFC3339) + `"` + more + `}}`}
	}
	soon, past := time.Now().Add(time.Hour), time.Now().Add(-time.Minute)

	end("stranger", past, "").want(t, 403, "status.delegator")
	end("ender-again", past, "").want(t, 403, "status.delegator")
	// A patch that can't be applied gets the same answer: it would reveal content.
	request{as: "stranger", method: "PATCH", path: delegations + "/" + d + "/expiration", contentType: "application/json-patch+json",
		body: `[{"op":"test","path":"/spec/ifLost","value":"Keep"}]`}.want(t, 403, "status.delegator")
	request{as: "root", method: "POST", path: rbacPath + "clusterrolebindings",
		body: `{"metadata":{"name":"all-of-ender-` + n + `"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"cluster-admin"},"subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"selective"}]}`}.want(t, 201)
	// Other tests give the user other rights, so that the creation may be allowed before the binding is known.
	request{as: "selective", method: "GET", path: "/api/v1/nodes"}.eventually(t, 200)
	mine := delegation{scope: n, rules: configMaps}
	request{as: "selective", method: "POST", path: delegations, body: mine.body("own-" + n)}.eventually(t, 201)
	selecting := request{as: "selective", method: "PATCH", path: delegations + "/own-" + n + "/expiration", contentType: mergePatch,
		body: `{"spec":{"expirationTimestamp":"2001-01-01T00:00:00Z"}}`}
	selecting.header = http.Header{selection.Header: {`{"authorityReference":{"kind":"ClusterRole","name":"cluster-admin"}}`}}
	selecting.want(t, 403, "while an authority is selected")
	selecting.header = nil
	selecting.want(t, 200)
	// The role allows none of this on the delegation itself, and no creation at the subresource.
	for _, r := range []request{
		{method: "DELETE", path: delegations + "/" + d},
		{method: "PATCH", path: delegations + "/" + d, contentType: mergePatch, body: `{"metadata":{"labels":{"a":"b"}}}`},
		{method: "DELETE", path: delegations + "/" + d + "/expiration"},
	} {
		r.as = "ender"
		if got := r.to(t); got.status != 403 && got.status != 405 {
			t.Errorf("%s %s: %s", r.method, r.path, got)
		}
	}
	use.want(t, 200)

	end("ender", soon, `,"idleSeconds":60,"conditions":[{"expression":"true"}]},"metadata":{"labels":{"a":"b"}`).want(t, 200)
	if got := read(t, d); got.Spec.IdleSeconds != nil || got.Spec.Conditions != nil || got.Labels["a"] != "" || got.Spec.ExpirationTimestamp == nil {
		t.Errorf("%+v", got)
	}
	use.want(t, 200)
	end("ender", soon.Add(time.Hour), "").want(t, 422, "spec.expirationTimestamp")
	request{as: "ender", method: "PATCH", path: delegations + "/" + d + "/expiration", contentType: mergePatch, body: `{"spec":{"expirationTimestamp":null}}`}.want(t, 422)
	request{as: "ender", method: "PATCH", path: delegations + "/missing/expiration", contentType: mergePatch, body: `{}`}.want(t, 404)
	end("ender", past, "").want(t, 200)
	use.want(t, 403, "expired")
}

// TestEndingByPut checks that the other ways to write end a delegation, too: a PUT, and an apply, which
// names only the expiration.
func TestEndingByPut(t *testing.T) {
	n, _ := stage(t, configMaps)
	bindDelegator(t, "ender")
	grant(t, n, "ender", configMaps)
	request{as: "ender", method: "GET", path: maps(n)}.eventually(t, 200)
	past := time.Now().Add(-time.Minute).UTC().Format(time.RFC3339)
	for name, send := range map[string]func(d string) request{
		"put": func(d string) request {
			return request{method: "PUT", path: delegations + "/" + d + "/expiration",
				body: `{"apiVersion":"authority.kube-granular.dev/v1alpha1","kind":"AuthorityDelegation","metadata":{"name":"` + d + `"},"spec":{"expirationTimestamp":"` + past + `"}}`}
		},
		"apply": func(d string) request {
			return request{method: "PATCH", path: delegations + "/" + d + "/expiration?fieldManager=m&force=true", contentType: "application/apply-patch+yaml",
				body: `{"apiVersion":"authority.kube-granular.dev/v1alpha1","kind":"AuthorityDelegation","metadata":{"name":"` + d + `"},"spec":{"expirationTimestamp":"` + past + `"}}`}
		},
	} {
		d := delegation{scope: n, rules: configMaps}.by(t, "ender", "")
		r := send(d)
		for as, status := range map[string]int{"stranger": 403, "ender": 200} {
			if r.as = as; status == 200 {
				request{as: "bot", method: "GET", path: maps(n), under: d}.want(t, 200)
			}
			r.want(t, status)
		}
		if got := (request{as: "bot", method: "GET", path: maps(n), under: d}).to(t); got.status != 403 {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestRestored checks that a creation that claims another delegator in its status gets a warning: the
// delegation belongs to the caller.
//
// Attack: restoring a backup of another user's delegation, which then delegates the rights of whoever restores it
// Answer: 201 with a warning; the delegation belongs to the caller
func TestRestored(t *testing.T) {
	n, _ := stage(t, configMaps)
	for name, tc := range map[string]struct {
		status string
		warned bool
	}{
		"none":            {`{}`, false},
		"oneself":         {`{"delegator":{"username":"alice","uid":"a-1"}}`, false},
		"oneself by name": {`{"delegator":{"username":"alice"}}`, false},
		"another":         {`{"delegator":{"username":"carol","uid":"c-1"}}`, true},
		"the one before":  {`{"delegator":{"username":"alice","uid":"a-0"}}`, true},
	} {
		d := fmt.Sprintf("d-%d", unique.Add(1))
		body := delegation{scope: n, rules: configMaps}.body(d)
		got := request{as: "alice", method: "POST", path: delegations, body: strings.TrimSuffix(body, "}") + `,"status":` + tc.status + `}`}.want(t, 201)
		if warned := strings.Contains(strings.Join(got.header["Warning"], " "), "belongs to you"); warned != tc.warned {
			t.Errorf("%s: %v", name, got.header["Warning"])
		}
		if owner := read(t, d).Status.Delegator; owner.Username != "alice" || owner.UID != "a-1" {
			t.Errorf("%s: it belongs to %+v", name, owner)
		}
	}
}

// TestAccountDeleted checks that the deletion of a service account ends what it delegated, and that
// another account of its name does not revive that. With ifLost: Keep, the delegation goes on.
//
// Attack: creating a service account with the name of a deleted one, so that delegations of that one work again
// Answer: 403, also for one that was created by impersonation without a UID; the delegations of the new account work at once
func TestAccountDeleted(t *testing.T) {
	n, _ := stage(t, configMaps)
	accounts := "/api/v1/namespaces/" + n + "/serviceaccounts"
	user := "system:serviceaccount:" + n + ":robot"
	grant(t, n, user, configMaps)
	everywhere(t, user, `{"apiGroups":["authority.kube-granular.dev"],"resources":["authoritydelegations"],"verbs":["create","delegate"]}`)
	token := func() string {
		apply(t, accounts, `{"metadata":{"name":"robot"}}`)
		got := request{as: "root", method: "POST", path: accounts + "/robot/token", body: `{"spec":{}}`}.want(t, 201)
		var review struct{ Status struct{ Token string } }
		if err := json.Unmarshal([]byte(got.body), &review); err != nil {
			t.Fatal(err)
		}
		return review.Status.Token
	}
	robot := token()
	request{as: robot, method: "GET", path: maps(n)}.eventually(t, 200)
	d := delegation{scope: n, rules: configMaps}.by(t, robot, "")
	kept := delegation{scope: n, rules: configMaps, more: `,"ifLost":"Keep"`}.by(t, robot, "")
	// Impersonation without a UID: the server finds out which account it is.
	impersonated := fmt.Sprintf("d-%d", unique.Add(1))
	impersonate := func(name, as string) request {
		return request{as: "root", method: "POST", path: delegations, body: delegation{scope: n, rules: configMaps}.body(name),
			header: http.Header{"Impersonate-User": {as}, "Impersonate-Group": {"system:authenticated"}}}
	}
	impersonate(impersonated, user).want(t, 201)
	grant(t, n, user+"-2", configMaps)
	everywhere(t, user+"-2", `{"apiGroups":["authority.kube-granular.dev"],"resources":["authoritydelegations"],"verbs":["create"]}`)
	impersonate("by-nobody", user+"-2").want(t, 403, "not found")
	use := func(under string) request { return request{as: "bot", method: "GET", path: maps(n), under: under} }
	use(d).want(t, 200)
	use(kept).want(t, 200)
	use(impersonated).want(t, 200)
	request{as: "root", method: "DELETE", path: accounts + "/robot"}.want(t, 200)
	if got := use(d).eventually(t, 403); !strings.Contains(got.body, "was deleted") {
		t.Errorf("%s", got)
	}
	use(kept).want(t, 200)
	robot = token()
	use(d).want(t, 403, "was deleted")
	use(impersonated).want(t, 403, "was deleted")
	use(kept).want(t, 200)
	request{as: robot, method: "GET", path: maps(n)}.eventually(t, 200)
	use(delegation{scope: n, rules: configMaps}.by(t, robot, "")).want(t, 200)
	use(d).want(t, 403, "was deleted")
}
