// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/test/integration/harness/etcd"
)

const (
	delegator  = `{"apiGroups":["authority.kube-granular.dev"],"resources":["authoritydelegations"],"verbs":["create","get","list"]}`
	guess      = `,"conditions":[{"expression":"oldObject.data.pw.charAt(0) <= 'M'"}]`
	putSecrets = `{"apiGroups":[""],"resources":["secrets"],"verbs":["update"]}`
	getSecrets = `{"apiGroups":[""],"resources":["secrets"],"verbs":["get"]}`
)

// TestConditionsAreNoOracle checks that nobody learns the content of an object by the conditions of a
// delegation without get on that object. It makes no difference whether the rules lack get or the
// delegator does, and which path to the object the delegate takes.
//
// Attack: delegating `update` on secrets to oneself, under another name, with conditions that compare a value that the caller may not read
// Answer: 422 without get in the rules, 403 if the caller does not hold it
//
// Attack: the same with `deployments/scale`, whose holders see replicas only, and conditions on the pod template or its hash
// Answer: 422
func TestConditionsAreNoOracle(t *testing.T) {
	n, _ := stage(t, configMaps)
	grant(t, n, "blind", putSecrets)
	grant(t, n, "scaler", `{"apiGroups":["apps"],"resources":["deployments/scale"],"verbs":["get","update","patch"]}`)
	for _, user := range []string{"blind", "scaler"} {
		everywhere(t, user, delegator)
	}
	secrets := "/api/v1/namespaces/" + n + "/secrets"
	apply(t, secrets, `{"metadata":{"name":"s"},"data":{"pw":"AAAA"}}`)
	refused := func(as, rules, conditions string, status int, says string) {
		t.Helper()
		name := fmt.Sprintf("d-%d", unique.Add(1))
		request{as: as, method: "POST", path: delegations + "?dryRun=All", body: delegation{scope: n, rules: rules, more: conditions}.body(name)}.want(t, status, says)
	}
	request{as: "root", method: "POST", path: "/apis/authorization.k8s.io/v1/subjectaccessreviews"}.reviewed(t, "blind", n, "update", [2]string{"", "secrets"})
	refused("blind", putSecrets, guess, 422, "secrets")
	refused("blind", putSecrets+","+getSecrets, guess, 403, "get")
	// The twin: without a condition, or with get, it is an ordinary delegation.
	refused("blind", putSecrets, "", 201, "")
	grant(t, n, "blind", getSecrets)
	request{as: "blind", method: "GET", path: secrets + "/s"}.eventually(t, 200)
	d := delegation{scope: n, rules: putSecrets + "," + getSecrets, more: guess}.by(t, "blind", "")
	request{as: "bot", method: "PUT", path: secrets + "/s?dryRun=All", under: d, body: `{"metadata":{"name":"s"},"data":{"pw":"AAAA"}}`}.want(t, 200)

	scale := `{"apiGroups":["apps"],"resources":["deployments/scale"],"verbs":["get","update","patch"]}`
	refused("scaler", scale, `,"conditions":[{"expression":"oldObject.spec.template.spec.containers[0].env[0].value < 'M'"}]`, 422, "deployments.apps")
	refused("scaler", scale, `,"conditions":[{"expression":"oldPodTemplateHash < 'sha256:8'"}]`, 422, "deployments.apps")
	refused("scaler", scale, "", 201, "")
}

// TestLosingGet checks that the delegation of a user who loses get on an object no longer evaluates
// conditions on it, although the delegate itself may get it, and that with ifLost: Keep it still does.
//
// Attack: continuing to compare content by conditions after the delegator has lost `get`
// Answer: 403, whatever the content is
func TestLosingGet(t *testing.T) {
	n, _ := stage(t, `{"apiGroups":[""],"resources":["configmaps"],"verbs":["create","update"]}`)
	get := `{"apiGroups":[""],"resources":["configmaps"],"verbs":["get"]}`
	binding := grant(t, n, "alice", get)
	grant(t, n, "bot", get)
	everywhere(t, "alice", `{"apiGroups":["authority.kube-granular.dev"],"resources":["authoritydelegations"],"verbs":["delegate"]}`)
	request{as: "root", method: "POST", path: "/apis/authorization.k8s.io/v1/subjectaccessreviews"}.reviewed(t, "alice", n, "get", [2]string{"", "configmaps"})
	apply(t, maps(n), configMap("c", "x"))
	both := `{"apiGroups":[""],"resources":["configmaps"],"verbs":["update"]},` + get
	put := func(under string) request {
		return request{as: "bot", method: "PUT", path: maps(n) + "/c", under: under, body: configMap("c", "x")}
	}
	var withdrawn, kept []string
	for _, expression := range []string{"true", "false"} {
		more := `,"conditions":[{"expression":"` + expression + `","message":"it differs"}]`
		withdrawn = append(withdrawn, delegation{scope: n, rules: both, more: more}.by(t, "alice", ""))
		kept = append(kept, delegation{scope: n, rules: both, more: more + `,"ifLost":"Keep"`}.by(t, "alice", ""))
	}
	put(withdrawn[0]).want(t, 200)
	put(withdrawn[1]).want(t, 403, "it differs")
	request{as: "root", method: "DELETE", path: binding}.want(t, 200)
	put(withdrawn[0]).eventually(t, 403)
	for _, d := range withdrawn {
		if got := put(d).want(t, 403, "may not get the object"); strings.Contains(got.body, "it differs") {
			t.Errorf("the condition was evaluated: %s", got)
		}
	}
	put(kept[0]).want(t, 200)
	put(kept[1]).want(t, 403, "it differs")
}

// TestStoredWithoutGet checks that a delegation that an earlier version of the server stored, with
// conditions and without get, refuses the writes, and that its status says so.
//
// Attack: a delegation with conditions and without `get` that was stored before the server checked that
// Answer: 403; its status names the resources
func TestStoredWithoutGet(t *testing.T) {
	endpoint := etcd.Start(t)
	p := newPeer(t, endpoint, gates)
	store, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for name, verbs := range map[string]string{"without": `"update"`, "with": `"update","get"`} {
		d := &v1alpha1.AuthorityDelegation{}
		text := fmt.Sprintf(`{"apiVersion":"authority.kube-granular.dev/v1alpha1","kind":"AuthorityDelegation","metadata":{"name":%q,"uid":"uid-%[1]s","generation":1,"creationTimestamp":"2026-01-01T00:00:00Z"},
			"spec":{"delegates":[{"kind":"User","name":"bot"}],"scope":{"cluster":true},"ifLost":"Withdraw","conditions":[{"expression":"true"}],"rules":[{"apiGroups":[""],"resources":["configmaps"],"verbs":[%[2]s]}]},
			"status":{"delegator":{"username":"root","groups":["system:masters"]},"rules":[{"apiGroups":[""],"resources":["configmaps"],"verbs":[%[2]s]}]}}`, name, verbs)
		if err := json.Unmarshal([]byte(text), d); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Put(t.Context(), "/registry/kube-granular/authority/authoritydelegations/"+name, text); err != nil {
			t.Fatal(err)
		}
	}
	p.want(t, request{as: "root", method: "POST", path: maps("default"), body: configMap("c", "x")}, 201)
	put := request{as: "bot", method: "PUT", path: maps("default") + "/c", body: configMap("c", "x"), under: named("with")}
	p.eventually(t, put, func(r response) bool { return r.status == 200 })
	put.under = named("without")
	p.eventually(t, put, func(r response) bool { return strings.Contains(r.body, "does not allow get on the object") })
	p.want(t, put, 403)
	for _, path := range []string{delegations + "/without", delegations} {
		got := p.want(t, request{as: "root", method: "GET", path: path}, 200)
		if !strings.Contains(got.body, `"problems":["conditions need the verb get, which the rules lack for configmaps`) {
			t.Errorf("%s: %s", path, got)
		}
	}
	if got := p.want(t, request{as: "root", method: "GET", path: delegations + "/with"}, 200); strings.Contains(got.body, "problems") {
		t.Errorf("%s", got)
	}
}

// TestUIDsAreKnownToWriters checks why objectUIDs need no get: whoever may write an object learns its UID
// from the server's own answer.
func TestUIDsAreKnownToWriters(t *testing.T) {
	n, _ := stage(t, configMaps)
	grant(t, n, "blind", `{"apiGroups":[""],"resources":["configmaps"],"verbs":["update","delete"]}`)
	apply(t, maps(n), configMap("c", "x"))
	uid := read1(t, maps(n)+"/c")
	request{as: "blind", method: "PUT", path: maps(n) + "/c?dryRun=All", body: `{"metadata":{"name":"c","uid":"guessed"}}`}.eventually(t, 409)
	for _, r := range []request{
		{method: "PUT", path: maps(n) + "/c?dryRun=All", body: `{"metadata":{"name":"c","uid":"guessed"}}`},
		{method: "DELETE", path: maps(n) + "/c?dryRun=All", body: `{"preconditions":{"uid":"guessed"}}`},
	} {
		r.as = "blind"
		r.want(t, 409, uid)
	}
	request{as: "blind", method: "GET", path: maps(n) + "/c"}.want(t, 403)
}

// TestRoleOfDelegation checks that the verb delegate does not let its holder read a role by delegating
// it: the answer contains the rules of the role.
//
// Attack: delegating a role that the caller may not get, with the verb `delegate`, to read its rules in the answer
// Answer: 403, the same as for a role that does not exist
func TestRoleOfDelegation(t *testing.T) {
	n, _ := stage(t, configMaps)
	everywhere(t, "blind", `{"apiGroups":["authority.kube-granular.dev"],"resources":["authoritydelegations"],"verbs":["create","delegate"]}`)
	role := fmt.Sprintf("r-%d", unique.Add(1))
	apply(t, rbacPath+"clusterroles", `{"metadata":{"name":"`+role+`"},"rules":[{"apiGroups":[""],"resources":["secrets"],"resourceNames":["the-name"],"verbs":["get"]}]}`)
	create := func(role string) request {
		d := delegation{scope: n, rules: `"roleRef":{"kind":"ClusterRole","name":"` + role + `"}`}
		return request{as: "blind", method: "POST", path: delegations + "?dryRun=All", body: d.body("by-role")}
	}
	there, missing := create(role).want(t, 403), create("missing").want(t, 403)
	if text := strings.ReplaceAll(there.body, role, "missing"); text != missing.body {
		t.Errorf("%s\n%s", text, missing.body)
	}
	// The twins: who may get the role may delegate it, and so may who holds its rules.
	everywhere(t, "blind", `{"apiGroups":["rbac.authorization.k8s.io"],"resources":["clusterroles"],"verbs":["get"]}`)
	create(role).want(t, 201, "the-name")
}
