// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/selection"
)

// TestExpirationStays checks that an expiration time can be made earlier, but not later, and that it
// can't be removed in any way.
//
// Attack: removing the expiration of a delegation, or reviving an expired one, by the time 0001-01-01T00:00:00Z
// Answer: 422
func TestExpirationStays(t *testing.T) {
	n, _ := stage(t, configMaps)
	at := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(time.RFC3339) }
	d := delegation{scope: n, rules: configMaps, more: `,"expirationTimestamp":"` + at(time.Hour) + `"`}.by(t, "alice", "")
	for _, until := range []string{`"0001-01-01T00:00:00Z"`, `null`, `"` + at(2*time.Hour) + `"`} {
		request{as: "alice", method: "PATCH", path: delegations + "/" + d, contentType: mergePatch,
			body: `{"spec":{"expirationTimestamp":` + until + `}}`}.want(t, 422, "spec.expirationTimestamp")
	}
	request{as: "bot", method: "GET", path: maps(n), under: d}.want(t, 200)
	request{as: "alice", method: "PATCH", path: delegations + "/" + d, contentType: mergePatch,
		body: `{"spec":{"expirationTimestamp":"` + at(-time.Minute) + `"}}`}.want(t, 200)
	request{as: "bot", method: "GET", path: maps(n), under: d}.want(t, 403, "has expired")
	request{as: "alice", method: "PATCH", path: delegations + "/" + d, contentType: mergePatch,
		body: `{"spec":{"expirationTimestamp":"0001-01-01T00:00:00Z"}}`}.want(t, 422, "spec.expirationTimestamp")
	request{as: "bot", method: "GET", path: maps(n), under: d}.want(t, 403, "has expired")
	// The zero time is no expiration time of a delegation without one, either.
	endless := delegation{scope: n, rules: configMaps}.by(t, "alice", "")
	request{as: "alice", method: "PATCH", path: delegations + "/" + endless, contentType: mergePatch,
		body: `{"spec":{"expirationTimestamp":"0001-01-01T00:00:00Z"}}`}.want(t, 422, "spec.expirationTimestamp")
}

// TestDelegationsStayHidden checks that a caller who is not a delegate gets the same refusal for a
// delegation that exists, has expired, or does not exist, and that a delegate learns nothing about
// the ancestors of its delegation.
//
// Attack: selecting names of delegations to find out which exist, who created them, and under which others
// Answer: 403, the same as for a delegation that does not exist
func TestDelegationsStayHidden(t *testing.T) {
	n, _ := stage(t, configMaps)
	parent := delegation{scope: n, rules: configMaps, to: toBot}.by(t, "alice", "")
	expired := delegation{scope: n, rules: configMaps, more: `,"expirationTimestamp":"` + time.Now().Add(time.Hour).UTC().Format(time.RFC3339) + `"`}.by(t, "alice", "")
	request{as: "alice", method: "PATCH", path: delegations + "/" + expired, contentType: mergePatch,
		body: `{"spec":{"expirationTimestamp":"2001-01-01T00:00:00Z"}}`}.want(t, 200)
	missing := request{as: "other", method: "GET", path: maps(n), under: "missing"}.want(t, 403)
	for _, name := range []string{parent, expired} {
		got := request{as: "other", method: "GET", path: maps(n), under: name}.want(t, 403)
		if text := strings.ReplaceAll(got.body, name, "missing"); text != missing.body {
			t.Errorf("%s: %s, want %s", name, text, missing.body)
		}
	}
	// The twin: a delegate is told what is wrong.
	request{as: "bot", method: "GET", path: maps(n), under: expired}.want(t, 403, "has expired")
}

// TestTooManyPermissions checks that a delegation can't contain more combinations of verb, resource
// and name than the server can compare and list, however short it is.
//
// Attack: a delegation of two kilobytes whose rules the server would have to split into millions
// Answer: 422; and the server does not split such a role either when a caller selects it
func TestTooManyPermissions(t *testing.T) {
	n, _ := stage(t, configMaps)
	list := func(first string, count int) string {
		all := []string{first}
		for i := range count - 1 {
			all = append(all, fmt.Sprint("x", i))
		}
		return `["` + strings.Join(all, `","`) + `"]`
	}
	rule := func(verbs, groups, resources int) string {
		return fmt.Sprintf(`{"verbs":%s,"apiGroups":%s,"resources":%s}`, list("list", verbs), list("", groups), list("configmaps", resources))
	}
	everything := `{"apiGroups":["*"],"resources":["*"],"verbs":["*"]}`
	grant(t, n, "alice", everything)
	request{as: "root", method: "POST", path: "/apis/authorization.k8s.io/v1/subjectaccessreviews"}.reviewed(t, "alice", n, "x1", [2]string{"x1", "x1"})
	request{as: "alice", method: "POST", path: delegations, body: delegation{scope: n, rules: rule(64, 64, 17)}.body("too-many")}.
		want(t, 422, "spec.rules", fmt.Sprint(v1alpha1.MaxPermissions))
	d := delegation{scope: n, rules: rule(64, 64, 16)}.by(t, "alice", "")
	review := request{as: "bot", method: "POST", path: "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", under: d,
		body: `{"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectRulesReview","spec":{"namespace":"` + n + `"}}`}.want(t, 201)
	if most := 1 << 21; len(review.body) > most {
		t.Errorf("the review of %d permissions has %d bytes, more than %d", 64*64*16, len(review.body), most)
	}
	// A value that is repeated counts once.
	same := func(word string) string { return `["` + strings.Repeat(word+`","`, 63) + word + `"]` }
	delegation{scope: n, rules: `{"verbs":` + same("list") + `,"apiGroups":` + same("") + `,"resources":` + same("configmaps") + `}`}.by(t, "alice", "")
	// A role has no such limit. Without a binding, the caller's own rights would have to be compared
	// with each of its permissions.
	role := fmt.Sprintf("r-%d", unique.Add(1))
	for _, tc := range []struct {
		resources, want int
	}{{16, 200}, {17, 403}} {
		name := fmt.Sprintf("%s-%d", role, tc.resources)
		apply(t, rbacPath+"clusterroles", `{"metadata":{"name":"`+name+`"},"rules":[`+rule(64, 64, tc.resources)+`]}`)
		got := request{as: "alice", method: "GET", path: maps(n), header: http.Header{selection.Header: {`{"authorityReference":{"kind":"ClusterRole","name":"` + name + `"}}`}}}
		got.eventually(t, tc.want)
	}
}

// TestTooManyConditions checks that the conditions of a delegation can't be longer together than the
// server can compile in a moment, and that they can't compute for long.
//
// Attack: conditions that take seconds to compile or to evaluate
// Answer: 422, or 403 after a tenth of a second
func TestTooManyConditions(t *testing.T) {
	n, _ := stage(t, configMaps)
	condition := func(length int) string {
		return `{"expression":"` + strings.TrimSuffix(strings.Repeat("true||", length/6), "||") + strings.Repeat(" ", length%6+2) + `"}`
	}
	conditions := func(all ...string) delegation {
		return delegation{scope: n, rules: configMaps, more: `,"conditions":[` + strings.Join(all, ",") + `]`}
	}
	request{as: "alice", method: "POST", path: delegations, body: conditions(condition(4000), condition(4000), condition(200)).body("too-long")}.
		want(t, 422, "spec.conditions[2].expression", fmt.Sprint(v1alpha1.MaxExpressionsLength))
	conditions(condition(4000), condition(4000)).by(t, "alice", "")
	list := "[" + strings.TrimSuffix(strings.Repeat("1,", 100), ",") + "]"
	nested := fmt.Sprintf("%[1]s.all(a, %[1]s.all(b, %[1]s.all(c, a+b+c > 0)))", list)
	heavy := conditions(`{"expression":"`+nested+`"}`).by(t, "alice", "")
	request{as: "alice", method: "POST", path: maps(n), body: configMap("c", "x")}.want(t, 201)
	request{as: "bot", method: "PUT", path: maps(n) + "/c", body: configMap("c", "y"), under: heavy}.want(t, 403, "cost limit")
}

// TestSelectedRoleDelegates checks that a caller that selects a role delegates only what this role
// has, even if the role has the verb delegate.
//
// Attack: selecting a role with the verb `delegate`, to delegate the caller's other rights
// Answer: 403
func TestSelectedRoleDelegates(t *testing.T) {
	n, _ := stage(t, configMaps)
	grant(t, n, "selective", configMaps)
	role := fmt.Sprintf("r-%d", unique.Add(1))
	delegator := `{"apiGroups":["authority.kube-granular.dev"],"resources":["authoritydelegations"],"verbs":["create","delegate"]}`
	for name, rules := range map[string]string{role: delegator, role + "-wide": delegator + "," + configMaps} {
		apply(t, rbacPath+"clusterroles", `{"metadata":{"name":"`+name+`"},"rules":[`+rules+`]}`)
		apply(t, rbacPath+"clusterrolebindings", `{"metadata":{"name":"`+name+`"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"`+name+`"},
			"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"selective"}]}`)
	}
	selected := func(role, name string) request {
		return request{as: "selective", method: "POST", path: delegations, body: delegation{scope: n, rules: configMaps}.body(name),
			header: http.Header{selection.Header: {`{"authorityReference":{"kind":"ClusterRole","name":"` + role + `"}}`}}}
	}
	selected(role+"-wide", role+"-wide").eventually(t, 201)
	selected(role, role).want(t, 403, "configmaps")
	// Without a selection, the verb delegate is enough.
	request{as: "selective", method: "POST", path: delegations, body: delegation{scope: n, rules: configMaps}.body(role + "-own")}.want(t, 201)
}

// TestPolicyRollback checks that a rollback, which a client of apps/v1 requests by an annotation,
// triggers a policy like any change of the specification.
//
// Attack: rolling back a Deployment by annotation, so that its old template runs with its author's rights
// Answer: 403, or the caller's own rights
func TestPolicyRollback(t *testing.T) {
	n, _ := stage(t, configMaps)
	grant(t, n, "alice", getPods+`,{"apiGroups":["apps"],"resources":["deployments"],"verbs":["create","get","update","patch"]}`)
	grant(t, n, "other", `{"apiGroups":["apps"],"resources":["deployments"],"verbs":["get","update","patch"]}`)
	_, stamp := policy{resource: "apps/deployments", namespace: n, rules: getPods}.made(t)
	web := "/apis/apps/v1/namespaces/" + n + "/deployments"
	made := request{as: "alice", method: "POST", path: web, body: `{"metadata":{"name":"web"},"spec":{"selector":{"matchLabels":{"a":"b"}},
		"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`}.eventually(t, 201)
	if made.annotations(t)[stamp] == "" {
		t.Fatalf("no stamp: %s", made)
	}
	annotate := func(as, key string) request {
		return request{as: as, method: "PATCH", path: web + "/web", contentType: mergePatch, body: `{"metadata":{"annotations":{"` + key + `":"1"}}}`}
	}
	annotate("other", "example.com/note").eventually(t, 200)
	annotate("other", "deprecated.deployment.rollback.to").want(t, 403, "pods")
	annotate("alice", "deprecated.deployment.rollback.to").want(t, 200)
}

// TestRenewWithoutRights checks that a caller that lacks the rights of a policy and asks to renew a
// stamp leaves the stamp as it is, also if the policy has ifNotHeld: Skip.
//
// Attack: renewing the stamp of another author's object without the rights, so that the stamp is removed
// Answer: the stamp stays
func TestRenewWithoutRights(t *testing.T) {
	n, _ := stage(t, both)
	grant(t, n, "other", configMaps)
	_, stamp := policy{namespace: n, rules: getPods, more: `,"ifNotHeld":"Skip"`}.made(t)
	under := request{as: "alice", method: "POST", path: maps(n), body: configMap("c", "x")}.want(t, 201).annotations(t)[stamp]
	if under == "" {
		t.Fatal("no stamp")
	}
	renew := request{as: "other", method: "PATCH", path: maps(n) + "/c", contentType: mergePatch,
		body: `{"metadata":{"annotations":{"` + stamp + `":"` + v1alpha1.StampRenew + `"}}}`}
	renew.eventually(t, 200)
	if is := stamped(t, maps(n)+"/c", stamp); is != under {
		t.Errorf("stamped %q, want %q", is, under)
	}
	// A change of the content without the rights removes the stamp.
	renew.body = `{"data":{"k":"y"}}`
	renew.want(t, 200)
	if is := stamped(t, maps(n)+"/c", stamp); is != "" {
		t.Errorf("stamped %q after a change of the content", is)
	}
}

// TestPolicyOfEvents checks that a policy can name events only by the group in which all events are
// found. The other group would not select any of them.
func TestPolicyOfEvents(t *testing.T) {
	n, _ := stage(t, configMaps)
	for group, want := range map[string]int{"": 201, "events.k8s.io": 422} {
		request{as: "root", method: "POST", path: policies + "?dryRun=All", body: policy{resource: group + "/events", namespace: n, rules: getPods}.body("events")}.want(t, want)
	}
}
