// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"net/http"
	"testing"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/pkg/audit"
	"kube-granular.dev/test/integration/harness"
)

// TestChain checks that a delegate can delegate further only what was delegated to it, and that
// the whole chain ends when any of its delegations ends.
//
// Attack: a delegate delegates more than it received: rules, scope, time, or without conditions
// Answer: 403, or it allows nothing more
//
// Attack: continuing after a delegation of the chain was deleted
// Answer: 403
func TestChain(t *testing.T) {
	n, _ := stage(t, configMaps+`,{"apiGroups":[""],"resources":["secrets"],"verbs":["list"]}`)
	root := delegation{scope: n,
		rules: configMaps + "," + `{"apiGroups":[""],"resources":["secrets"],"verbs":["list"]}`}
	// To delegate further, a delegate needs the right to create delegations among the delegated
	// rights. This one has no such right.
	without := root.by(t, "alice", "")
	to := `{"kind":"User","name":"other"}`
	child := delegation{scope: n, rules: `{"apiGroups":[""],"resources":["configmaps"],"verbs":["list","patch"]}`,
		to: to}
	apply(t, maps(n), `{"metadata":{"name":"c"}}`)
	change := maps(n) + "/c?fieldManager="
	patch := func(user, manager, under string) request {
		return request{as: user, method: "PATCH", path: change + manager, under: under, contentType: mergePatch,
			body: `{"data":{"a":"` + manager + `"}}`}
	}
	request{as: "bot", method: "POST", path: delegations, body: child.body("c-" + n), under: without}.want(t, 403)

	first := delegation{rules: configMaps + "," + delegates}
	request{as: "alice", method: "POST", path: delegations, body: first.body("f-" + n)}.want(t, 403)
	everywhere(t, "alice", configMaps)
	request{as: "alice", method: "POST", path: delegations + "?dryRun=All", body: first.body("f-" + n)}.eventually(t, 201)
	a := first.by(t, "alice", "")
	beyond := delegation{scope: n, rules: `{"apiGroups":[""],"resources":["secrets"],"verbs":["list"]}`, to: to}
	request{as: "bot", method: "POST", path: delegations, body: beyond.body("b-" + n), under: a}.want(t, 403)
	keep := child
	keep.more = `,"ifLost":"Keep"`
	request{as: "bot", method: "POST", path: delegations, body: keep.body("k-" + n), under: a}.want(t, 422)
	b := child.by(t, "bot", a)
	request{as: "other", method: "GET", path: maps(n), under: b}.want(t, 200)
	request{as: "bot", method: "GET", path: maps(n), under: b}.want(t, 403)
	request{as: "other", method: "POST", path: maps(n), under: b, body: `{"metadata":{"name":"c"}}`}.want(t, 403)
	request{as: "other", method: "GET", path: "/api/v1/configmaps", under: b}.want(t, 403)
	request{as: "bot", method: "GET", path: "/api/v1/configmaps", under: a}.want(t, 200)

	history := read(t, b).Status.History
	if len(history) != 1 || history[0].Via != v1alpha1.ViaDelegation || history[0].By != "alice" || history[0].Name != a || history[0].UID != read(t, a).UID {
		t.Errorf("%+v", history)
	}
	annotated(t, change+"x1", patch("other", "x1", b), 200, map[string]string{
		audit.ChainAnnotation:   `[{"via":"Delegation","by":"alice","byUID":"a-1","name":"` + a + `","uid":"` + string(read(t, a).UID) + `"},{"via":"Delegation","by":"bot","byUID":"b-1","name":"` + b + `","uid":"` + string(read(t, b).UID) + `"}]`,
		audit.RefusedAnnotation: "", audit.SelectedAnnotation: named(b),
	})
	annotated(t, change+"x2", patch("bot", "x2", b), 403, map[string]string{audit.RefusedAnnotation: "NotDelegate"})
	annotated(t, maps("kube-system")+"?fieldManager=x3", request{as: "other", method: "POST", path: maps("kube-system") + "?fieldManager=x3", under: b, body: `{"metadata":{"name":"d"}}`}, 403, map[string]string{audit.RefusedAnnotation: "NotCovered"})

	request{as: "root", method: "DELETE", path: delegations + "/" + a}.want(t, 200)
	request{as: "other", method: "GET", path: maps(n), under: b}.want(t, 403)
	// A new delegation with the same name is a different one, so the old chain stays ended.
	request{as: "alice", method: "POST", path: delegations, body: first.body(a)}.want(t, 201)
	request{as: "other", method: "GET", path: maps(n), under: b}.want(t, 403)
	request{as: "bot", method: "GET", path: maps(n), under: a}.want(t, 200)
}

// TestDepth checks that a chain can't be longer than its limit.
//
// Attack: a chain without end
// Answer: 403
func TestDepth(t *testing.T) {
	n, _ := stage(t, configMaps)
	everywhere(t, "alice", `{"apiGroups":[""],"resources":["configmaps"],"verbs":["list"]}`)
	rules := `{"apiGroups":[""],"resources":["configmaps"],"verbs":["list"]},` + delegates
	users := []string{"bot", "other"}
	link := func(i int) delegation {
		return delegation{rules: rules, to: `{"kind":"User","name":"` + users[i%2] + `"}`}
	}
	request{as: "alice", method: "POST", path: delegations + "?dryRun=All", body: link(0).body("depth")}.eventually(t, 201)
	under := link(0).by(t, "alice", "")
	for i := 1; i < v1alpha1.MaxChain; i++ {
		under = link(i).by(t, users[(i-1)%2], under)
	}
	last := users[(v1alpha1.MaxChain-1)%2]
	request{as: last, method: "GET", path: maps(n), under: under}.want(t, 200)
	request{as: last, method: "POST", path: delegations, body: link(v1alpha1.MaxChain).body("deep"), under: under}.want(t, 403, "8")
}

// TestImpersonated checks that a delegation that a user created by impersonation records this
// in its history.
func TestImpersonated(t *testing.T) {
	n, _ := stage(t, configMaps)
	as := http.Header{"Impersonate-User": {"alice"}, "Impersonate-Group": {"people"}}
	name := "imp-" + n
	request{as: "root", method: "POST", path: delegations, body: delegation{scope: n, rules: configMaps}.body(name),
		header: as}.want(t, 201)
	got := read(t, name).Status
	if got.Delegator.Username != "alice" || len(got.History) != 1 || got.History[0].Via != v1alpha1.ViaImpersonation || got.History[0].By != "root" {
		t.Errorf("%+v", got)
	}
	request{as: "bot", method: "GET", path: maps(n), under: name}.want(t, 200)
	// The delegated rights are limited to those of the impersonated user.
	request{as: "root", method: "POST", path: delegations,
		body:   delegation{scope: n, rules: `{"apiGroups":[""],"resources":["secrets"],"verbs":["list"]}`}.body(name + "-2"),
		header: as}.want(t, 403)
	// A user that impersonates the delegate may use the delegation, and the audit log records
	// this.
	annotated(t, maps(n)+"?fieldManager=x4", request{as: "root", method: "POST", path: maps(n) + "?fieldManager=x4", under: name, header: http.Header{"Impersonate-User": {"bot"}}, body: `{"metadata":{"name":"d"}}`}, 201, map[string]string{
		audit.ChainAnnotation: `[{"via":"Impersonation","by":"root"},{"via":"Delegation","by":"alice","name":"` + name + `","uid":"` + string(read(t, name).UID) + `"},{"via":"Impersonation","by":"root"}]`,
	})
	request{as: "bot", method: "GET", path: maps(n), under: name, header: http.Header{"Impersonate-User": {"alice"}}}.want(t, 403)
}

// annotated sends a request and checks its status and the annotations of its audit event.
func annotated(t *testing.T, uri string, r request, status int, want map[string]string) {
	t.Helper()
	r.want(t, status)
	var event *auditv1.Event
	harness.Until(t, uri+" is in the audit log", func() bool {
		event = harness.Event(t, auditLog, uri)
		return event != nil
	})
	for key, value := range want {
		if got := event.Annotations[key]; got != value {
			t.Errorf("%s: %s is %s\nwanted %s", uri, key, got, value)
		}
	}
}
