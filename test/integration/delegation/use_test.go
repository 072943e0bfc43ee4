// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"net/http"
	"strings"
	"testing"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/selection"
)

// TestUse checks that a delegation gives its delegates exactly its rules in its scope. While a
// delegate selects a delegation, the delegate's own rights do not count.
//
// Attack: somebody else selects a delegation, or its delegate asks for more than it allows
// Answer: 403
func TestUse(t *testing.T) {
	n, _ := stage(t, configMaps)
	elsewhere, _ := stage(t, configMaps)
	d := delegation{scope: n, rules: `{"apiGroups":[""],"resources":["configmaps"],"verbs":["get","list"]}`}.by(t, "alice", "")
	list := request{as: "bot", method: "GET", path: maps(n), under: d}
	if got := list.want(t, 200); got.header.Get(selection.Header) != named(d) {
		t.Errorf("repeats %q", got.header[selection.Header])
	}
	list.under = byUID(string(read(t, d).UID))
	list.want(t, 200)
	list.under = ""
	list.want(t, 403)
	for _, who := range []string{"other", "alice", "root"} {
		request{as: who, method: "GET", path: maps(n), under: d}.want(t, 403)
	}
	request{as: "alice", method: "GET", path: maps(n)}.want(t, 200)
	request{as: "bot", method: "GET", path: maps(elsewhere), under: d}.want(t, 403)
	request{as: "bot", method: "GET", path: "/api/v1/configmaps", under: d}.want(t, 403)
	request{as: "bot", method: "POST", path: maps(n), under: d, body: `{"metadata":{"name":"c"}}`}.want(t, 403, d)
	// The own rights of the delegate do not count while it selects a delegation.
	request{as: "bot", method: "GET", path: delegations, under: d}.want(t, 403)
	request{as: "bot", method: "GET", path: delegations}.want(t, 200)
	// A wrong name or UID is refused like any other selection, so nobody can find out which
	// delegations exist.
	request{as: "bot", method: "GET", path: maps(n), under: "none"}.want(t, 403)
	request{as: "bot", method: "GET", path: maps(n),
		under: `{"authorityReference":{"kind":"AuthorityDelegation","name":"` + d + `","uid":"x"}}`}.want(t, 403)
}

// TestLosing checks that a delegation loses a right together with its delegator, unless ifLost
// is Keep. To create a delegation with Keep, the delegator needs the verb delegate.
//
// Attack: a delegate continues to use a right that its delegator has lost
// Answer: 403, as soon as RBAC knows
//
// Attack: using a delegation to keep a right that the caller is about to lose
// Answer: 403 without the verb `delegate`
func TestLosing(t *testing.T) {
	n, binding := stage(t, configMaps)
	d := delegation{scope: n, rules: configMaps}.by(t, "alice", "")
	keeping := delegation{scope: n, rules: configMaps, more: `,"ifLost":"Keep"`}
	request{as: "alice", method: "POST", path: delegations, body: keeping.body("keeping"), under: ""}.want(t, 403, "delegate")
	verb := grant(t, "", "alice", `{"apiGroups":["authority.kube-granular.dev"],"resources":["authoritydelegations"],"verbs":["delegate"]}`)
	request{as: "alice", method: "POST", path: delegations + "?dryRun=All", body: keeping.body("keeping")}.eventually(t, 201)
	kept := keeping.by(t, "alice", "")
	// Under a delegation with Keep, the delegator itself has no rights, even as a member of a
	// group of delegates.
	self := delegation{scope: n, rules: configMaps, more: `,"ifLost":"Keep"`, to: `{"kind":"Group","name":"people"}`}.by(t, "alice", "")
	request{as: "alice", method: "GET", path: maps(n), under: self}.want(t, 403)
	for _, name := range []string{d, kept} {
		request{as: "bot", method: "GET", path: maps(n), under: name}.want(t, 200)
	}
	request{as: "root", method: "DELETE", path: binding}.want(t, 200)
	request{as: "bot", method: "GET", path: maps(n), under: d}.eventually(t, 403)
	request{as: "bot", method: "GET", path: maps(n), under: d}.want(t, 403, "alice")
	request{as: "bot", method: "GET", path: maps(n), under: kept}.want(t, 200)
	// With Keep, alice can't delegate a right that she has lost. Without Keep, the verb
	// delegate lets her create the delegation, but it allows nothing.
	request{as: "alice", method: "POST", path: delegations, body: keeping.body("lost")}.want(t, 403)
	void := delegation{scope: n, rules: configMaps}.by(t, "alice", "")
	request{as: "bot", method: "GET", path: maps(n), under: void}.want(t, 403)
	request{as: "root", method: "DELETE", path: verb}.want(t, 200)
	lost := delegation{scope: n, rules: configMaps}
	request{as: "alice", method: "POST", path: delegations + "?dryRun=All", body: lost.body("lost")}.eventually(t, 403)
}

// TestCreating checks that a user can delegate only rights that it holds, and only in its own
// name.
//
// Attack: delegating rules that the caller does not hold, another scope, or a role that it holds only in part
// Answer: 403
//
// Attack: a delegation that claims another creator
// Answer: 201, the creator is the caller that sent it
//
// Attack: delegating to everybody, or to the caller itself
// Answer: 422
func TestCreating(t *testing.T) {
	n, _ := stage(t, configMaps)
	elsewhere := n + "-else"
	apply(t, "/api/v1/namespaces", `{"metadata":{"name":"`+elsewhere+`"}}`)
	for name, tc := range map[string]struct {
		d      delegation
		status int
	}{
		"own": {delegation{scope: n, rules: configMaps}, 201},
		"secrets": {delegation{scope: n, rules: `{"apiGroups":[""],"resources":["secrets"],"verbs":["get"]}`},
			403},
		"everything":   {delegation{scope: n, rules: `{"apiGroups":["*"],"resources":["*"],"verbs":["*"]}`}, 403},
		"elsewhere":    {delegation{scope: elsewhere, rules: configMaps}, 403},
		"cluster":      {delegation{rules: configMaps}, 403},
		"role-in-part": {delegation{scope: n, rules: `"roleRef":{"kind":"ClusterRole","name":"view"}`}, 403},
		"no-role":      {delegation{scope: n, rules: `"roleRef":{"kind":"ClusterRole","name":"none"}`}, 403},
		"no-namespace": {delegation{scope: "no-such", rules: configMaps}, 403},
		"permission": {delegation{scope: n, rules: `{"apiGroups":[""],"resources":["configmaps"],"verbs":["granular","granular:labels","granular:metadata"]}`},
			201},
		"permission-beyond": {delegation{scope: n, rules: `{"apiGroups":[""],"resources":["secrets"],"verbs":["granular:labels"]}`},
			403},
		"protected": {delegation{scope: n, rules: `{"apiGroups":[""],"resources":["configmaps"],"verbs":["granular:protectedLabel(a)"]}`},
			403},
		"custom": {delegation{scope: n, rules: `{"apiGroups":["example.com"],"resources":["things"],"verbs":["granular:labels"]}`},
			403},
		"everybody": {delegation{scope: n, rules: configMaps, to: `{"kind":"Group","name":"system:authenticated"}`},
			422},
		"oneself": {delegation{scope: n, rules: configMaps, to: `{"kind":"User","name":"alice"}`}, 422},
		"past": {delegation{scope: n, rules: configMaps, more: `,"expirationTimestamp":"2020-01-01T00:00:00Z"`},
			422},
		"expression": {delegation{scope: n, rules: configMaps, more: `,"conditions":[{"expression":"object.x +"}]`},
			422},
		"no-bool": {delegation{scope: n, rules: configMaps, more: `,"conditions":[{"expression":"'a'"}]`},
			422},
	} {
		t.Run(name, func(t *testing.T) {
			request{as: "alice", method: "POST", path: delegations, body: tc.d.body(n + "-" + name)}.want(t, tc.status)
		})
	}
	forged := strings.Replace(delegation{scope: n, rules: configMaps}.body(n+"-forged"), `"spec":`, `"status":{"delegator":{"username":"root","groups":["system:masters"]},"rules":[{"apiGroups":["*"],"resources":["*"],"verbs":["*"]}],"namespaceUID":"x","history":[{"via":"Delegation","by":"root"}]},"spec":`, 1)
	request{as: "alice", method: "POST", path: delegations, body: forged}.want(t, 201)
	got := read(t, n+"-forged").Status
	if got.Delegator.Username != "alice" || got.Delegator.UID != "a-1" || len(got.Rules) != 1 || got.Rules[0].Resources[0] != "configmaps" || len(got.History) != 0 || got.NamespaceUID == "x" {
		t.Errorf("%+v", got)
	}
}

// TestChanging checks that no request can widen a delegation.
//
// Attack: widening a delegation by an update, a patch, an apply, or through its status
// Answer: 422, or nothing is changed
func TestChanging(t *testing.T) {
	n, _ := stage(t, configMaps)
	d := delegation{scope: n, rules: configMaps, more: `,"expirationTimestamp":"2100-01-01T00:00:00Z"`}.by(t, "alice", "")
	const merge = "application/merge-patch+json"
	path := delegations + "/" + d
	for _, patch := range []string{
		`{"spec":{"rules":[{"apiGroups":["*"],"resources":["*"],"verbs":["*"]}]}}`,
		`{"spec":{"delegates":[{"kind":"User","name":"other"}]}}`, `{"spec":{"scope":{"namespace":null,"cluster":true}}}`,
		`{"spec":{"ifLost":"Keep"}}`, `{"spec":{"expirationTimestamp":"2101-01-01T00:00:00Z"}}`, `{"spec":{"expirationTimestamp":null}}`,
		`{"spec":{"conditions":[{"expression":"true"}]}}`, `{"spec":{"objectUIDs":["x"]}}`, `{"spec":{"idleSeconds":60}}`,
	} {
		request{as: "root", method: "PATCH", path: path, body: patch, contentType: merge}.want(t, 422)
	}
	before := read(t, d)
	request{as: "root", method: "PATCH", path: path, contentType: merge,
		body: `{"metadata":{"labels":{"a":"b"}},"status":{"delegator":{"username":"root"},"rules":[{"apiGroups":["*"],"resources":["*"],"verbs":["*"]}],"expirationTimestamp":"2101-01-01T00:00:00Z"}}`}.want(t, 200)
	after := read(t, d)
	if after.Labels["a"] != "b" || after.Status.Delegator.Username != "alice" || after.Status.Rules[0].Resources[0] != "configmaps" || !after.Status.ExpirationTimestamp.Equal(before.Status.ExpirationTimestamp) {
		t.Errorf("%+v", after.Status)
	}
	request{as: "root", method: "PATCH", path: path + "/status", body: `{"status":{}}`, contentType: merge}.want(t, 404)
	// The expiration time can be moved to an earlier time, and then applies.
	request{as: "bot", method: "GET", path: maps(n), under: d}.want(t, 200)
	request{as: "alice", method: "PATCH", path: path,
		body: `{"spec":{"expirationTimestamp":"2020-01-01T00:00:00Z"}}`, contentType: merge}.want(t, 200)
	request{as: "bot", method: "GET", path: maps(n), under: d}.want(t, 403, "expired")
}

// TestDelegates checks who counts as a delegate: the name must match, and the UID too if the
// delegation names one.
//
// Attack: a user or service account with the name of a delegate and another UID
// Answer: 403
func TestDelegates(t *testing.T) {
	n, _ := stage(t, configMaps)
	for name, tc := range map[string]struct {
		to     string
		status int
	}{
		"name":           {toBot, 200},
		"UID":            {`{"kind":"User","name":"bot","uid":"b-1"}`, 200},
		"another UID":    {`{"kind":"User","name":"bot","uid":"b-2"}`, 403},
		"another":        {`{"kind":"User","name":"other"}`, 403},
		"one of several": {`{"kind":"User","name":"other"},` + toBot, 200},
		"group":          {`{"kind":"Group","name":"people"}`, 403},
		"account":        {`{"kind":"ServiceAccount","namespace":"` + n + `","name":"bot"}`, 403},
	} {
		d := delegation{scope: n, rules: configMaps, to: tc.to}.by(t, "alice", "")
		if got := (request{as: "bot", method: "GET", path: maps(n), under: d}).to(t); got.status != tc.status {
			t.Errorf("%s: %s", name, got)
		}
	}
	account := delegation{scope: n, rules: configMaps,
		to: `{"kind":"ServiceAccount","namespace":"` + n + `","name":"robot"}`}.by(t, "alice", "")
	as := http.Header{"Impersonate-User": {"system:serviceaccount:" + n + ":robot"},
		"Impersonate-Group": {"system:serviceaccounts", "system:authenticated"}}
	request{as: "root", method: "GET", path: maps(n), under: account, header: as}.want(t, 200)
	as["Impersonate-User"] = []string{"system:serviceaccount:" + n + ":bot"}
	request{as: "root", method: "GET", path: maps(n), under: account, header: as}.want(t, 403)
}

// TestListing checks the field selectors that find delegations by their delegator and by their
// delegates.
func TestListing(t *testing.T) {
	n, _ := stage(t, configMaps)
	a := delegation{scope: n, rules: configMaps,
		to: `{"kind":"User","name":"listed"},{"kind":"Group","name":"listers"},{"kind":"ServiceAccount","namespace":"` + n + `","name":"robot"}`}.by(t, "alice", "")
	b := delegation{scope: n, rules: configMaps, to: `{"kind":"User","name":"listed-other"}`}.by(t, "alice", "")
	for selector, want := range map[string][2]bool{
		"spec.delegates.user=listed":                                 {true, false},
		"spec.delegates.user=listed-other":                           {false, true},
		"spec.delegates.user!=listed":                                {false, true},
		"spec.delegates.group=listers":                               {true, false},
		"spec.delegates.user=listers":                                {false, false},
		"spec.delegates.user=system:serviceaccount:" + n + ":robot":  {true, false},
		"status.delegator.username=alice":                            {true, true},
		"status.delegator.username=alice,spec.delegates.user=listed": {true, false},
		"status.delegator.username=bot":                              {false, false},
	} {
		got := request{as: "root", method: "GET",
			path: delegations + "?fieldSelector=" + strings.NewReplacer("=", "%3D", "!", "%21", ",", "%2C").Replace(selector)}.want(t, 200)
		if strings.Contains(got.body, `"name":"`+a+`"`) != want[0] || strings.Contains(got.body, `"name":"`+b+`"`) != want[1] {
			t.Errorf("%s: %s", selector, got)
		}
	}
	request{as: "root", method: "GET", path: delegations + "?fieldSelector=spec.ifLost%3DKeep"}.want(t, 400)
	table := request{as: "root", method: "GET", path: delegations + "/" + a,
		header: http.Header{"Accept": {"application/json;as=Table;v=v1;g=meta.k8s.io"}}}.want(t, 200)
	for _, says := range []string{`"alice"`, `listed,group listers,` + n + `/robot`, `"` + n + `"`, `"own"`, `no end`} {
		if !strings.Contains(table.body, says) {
			t.Errorf("the table lacks %s: %s", says, table)
		}
	}
}

// TestSnapshot checks that a delegation keeps the rules that its role had when the delegation
// was created.
//
// Attack: adding rules to a role after somebody delegated it
// Answer: 403
func TestSnapshot(t *testing.T) {
	n, _ := stage(t, configMaps+`,{"apiGroups":[""],"resources":["secrets"],"verbs":["list"]}`)
	apply(t, rbacPath+"namespaces/"+n+"/roles", `{"metadata":{"name":"small"},"rules":[{"apiGroups":[""],"resources":["configmaps"],"verbs":["list"]}]}`)
	d := delegation{scope: n, rules: `"roleRef":{"kind":"Role","name":"small"}`}.by(t, "alice", "")
	role := read(t, d).Status.Role
	if role == nil || role.UID == "" || role.ResourceVersion == "" || role.Namespace != n || role.Kind != v1alpha1.RoleKind {
		t.Errorf("%+v", role)
	}
	request{as: "root", method: "PATCH", path: rbacPath + "namespaces/" + n + "/roles/small",
		contentType: "application/merge-patch+json",
		body:        `{"rules":[{"apiGroups":[""],"resources":["configmaps","secrets"],"verbs":["list"]}]}`}.want(t, 200)
	wider := delegation{scope: n, rules: `"roleRef":{"kind":"Role","name":"small"}`}.by(t, "alice", "")
	request{as: "bot", method: "GET", path: "/api/v1/namespaces/" + n + "/secrets", under: wider}.want(t, 200)
	request{as: "bot", method: "GET", path: "/api/v1/namespaces/" + n + "/secrets", under: d}.want(t, 403)
	request{as: "bot", method: "GET", path: maps(n), under: d}.want(t, 200)
}
