// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"kube-granular.dev/pkg/audit"
)

const (
	mergePatch  = "application/merge-patch+json"
	deployments = `{"apiGroups":["apps"],"resources":["deployments","deployments/scale"],"verbs":["create","get","list","update","patch","delete","deletecollection"]}`
	deployment  = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"one"}]}}}}`
)

// TestConditions checks that the object that a write would store must meet all conditions of
// the chain, on all paths. A delegation with conditions allows no request for which the server
// can't evaluate them, such as a deletion or a read.
//
// Attack: another path to the same object: its scale, an apply, a PUT, in another version
// Answer: 403
//
// Attack: deleting, connecting, binding, granting, or requesting tokens under a condition
// Answer: 403
//
// Attack: a condition that fails or costs too much
// Answer: 403
func TestConditions(t *testing.T) {
	n, _ := stage(t, deployments+`,{"apiGroups":[""],"resources":["pods/exec","pods/eviction","pods/binding","bindings"],"verbs":["create"]},{"apiGroups":["rbac.authorization.k8s.io"],"resources":["roles"],"verbs":["create","get"]}`)
	path := "/apis/apps/v1/namespaces/" + n + "/deployments"
	apply(t, path, deployment)
	condition := func(expression string) string {
		return fmt.Sprintf(`,"conditions":[{"expression":%q}]`, expression)
	}
	small := delegation{scope: n, rules: deployments + `,{"apiGroups":[""],"resources":["pods/exec","pods/eviction","pods/binding","bindings"],"verbs":["create"]},{"apiGroups":["rbac.authorization.k8s.io"],"resources":["roles"],"verbs":["create","get"]}`,
		more: condition("object.spec.replicas < 5 && (oldObject == null || oldPodTemplateHash == podTemplateHash)")}.by(t, "alice", "")
	patch := func(under, body string) request {
		return request{as: "bot", method: "PATCH", path: path + "/web", under: under, contentType: mergePatch,
			body: body}
	}
	patch(small, `{"spec":{"replicas":4}}`).want(t, 200)
	patch(small, `{"spec":{"replicas":5}}`).want(t, 403, "condition")
	patch(small, `{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"two"}]}}}}`).want(t, 403, "condition")
	annotated(t, path+"/web?fieldManager=x", request{as: "bot", method: "PATCH", path: path + "/web?fieldManager=x", under: small, contentType: mergePatch, body: `{"spec":{"replicas":6}}`}, 403, map[string]string{audit.RefusedAnnotation: "Condition"})
	request{as: "bot", method: "PATCH", path: path + "/web/scale", under: small, contentType: mergePatch,
		body: `{"spec":{"replicas":3}}`}.want(t, 200)
	request{as: "bot", method: "PATCH", path: path + "/web/scale", under: small, contentType: mergePatch,
		body: `{"spec":{"replicas":7}}`}.want(t, 403, "condition")
	request{as: "bot", method: "PATCH", path: path + "/web?fieldManager=b&force=true", under: small,
		contentType: "application/apply-patch+yaml",
		body:        `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{"replicas":8}}`}.want(t, 403, "condition")
	request{as: "bot", method: "PUT", path: path + "/web", under: small,
		body: strings.Replace(deployment, `"one"`, `"three"`, 1)}.want(t, 403, "condition")
	request{as: "bot", method: "PUT", path: path + "/web", under: small, body: deployment}.want(t, 200)
	request{as: "bot", method: "POST", path: path, under: small,
		body: strings.Replace(deployment, `"web"`, `"second"`, 1)}.want(t, 201)
	request{as: "bot", method: "POST", path: path, under: small,
		body: strings.Replace(strings.Replace(deployment, `"web"`, `"third"`, 1), `"spec":{"sel`, `"spec":{"replicas":9,"sel`, 1)}.want(t, 403, "condition")
	request{as: "bot", method: "POST", path: path + "?dryRun=All", under: small,
		body: strings.Replace(strings.Replace(deployment, `"web"`, `"third"`, 1), `"spec":{"sel`, `"spec":{"replicas":9,"sel`, 1)}.want(t, 403, "condition")
	plain := delegation{scope: n, rules: deployments}.by(t, "alice", "")
	for _, r := range []request{
		{method: "DELETE", path: path + "/second"}, {method: "DELETE", path: path}, {method: "GET", path: path + "/web"},
	} {
		r.as, r.under = "bot", small
		r.want(t, 403)
	}
	for _, r := range []request{
		{method: "POST", path: "/api/v1/namespaces/" + n + "/pods/p/exec?command=a"},
		{method: "POST", path: "/api/v1/namespaces/" + n + "/pods/p/eviction",
			body: `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p"}}`},
		{method: "POST", path: "/api/v1/namespaces/" + n + "/pods/p/binding", body: `{"target":{"name":"n"}}`},
		{method: "POST", path: "/api/v1/namespaces/" + n + "/bindings",
			body: `{"metadata":{"name":"p"},"target":{"name":"n"}}`},
		{method: "POST", path: rbacPath + "namespaces/" + n + "/roles",
			body: `{"metadata":{"name":"x"},"rules":[{"apiGroups":["apps"],"resources":["deployments"],"verbs":["update"]}]}`},
	} {
		r.as, r.under = "bot", small
		r.want(t, 403)
	}
	request{as: "bot", method: "GET", path: path + "/web", under: plain}.want(t, 200)
	request{as: "bot", method: "DELETE", path: path + "/second", under: plain}.want(t, 200)
	for name, expression := range map[string]string{
		"fails":     "object.spec.nothing == 1",
		"costs":     `[1,2,3,4,5,6,7,8,9,0].all(a,[1,2,3,4,5,6,7,8,9,0].all(b,[1,2,3,4,5,6,7,8,9,0].all(c,[1,2,3,4,5,6,7,8,9,0].all(d,[1,2,3,4,5,6,7,8,9,0].all(e,[1,2,3,4,5,6,7,8,9,0].all(f,[1,2,3,4,5,6,7,8,9,0].all(g,a+b+c+d+e+f+g>=0)))))))`,
		"no object": "oldObject.spec.replicas == 'x'",
		"false":     "false",
	} {
		d := delegation{scope: n, rules: deployments, more: condition(expression)}.by(t, "alice", "")
		if got := patch(d, `{"metadata":{"annotations":{"x":"y"}}}`).to(t); got.status != 403 {
			t.Errorf("%s: %s", name, got)
		}
	}
	always := delegation{scope: n, rules: deployments, more: condition("true")}.by(t, "alice", "")
	patch(always, `{"spec":{"replicas":6}}`).want(t, 200)
}

// TestConditionsOfImpliedCreate checks that a condition judges an apply that creates its object as a
// create, with no old object, and every later apply as a change.
//
// Attack: creating by apply what a condition forbids, with the verbs create and granular
// Answer: 403
func TestConditionsOfImpliedCreate(t *testing.T) {
	const granular = `{"apiGroups":["apps"],"resources":["deployments"],"verbs":["create","get","granular","granular:replicas"]}`
	n, _ := stage(t, deployments)
	path := "/apis/apps/v1/namespaces/" + n + "/deployments/"
	under := func(expression string) string {
		return delegation{scope: n, rules: granular, more: fmt.Sprintf(`,"conditions":[{"expression":%q}]`, expression)}.by(t, "alice", "")
	}
	applied := func(under, name, replicas string) request {
		return request{as: "bot", method: "PATCH", path: path + name + "?fieldManager=b&case=" + name + replicas, under: under, contentType: "application/apply-patch+yaml",
			body: strings.NewReplacer(`"web"`, `"`+name+`"`, `"spec":{"sel`, `"spec":{"replicas":`+replicas+`,"sel`).Replace(deployment)}
	}
	// Under a condition nothing can be read, so the answer says no reason.
	refused := func(r request) {
		t.Helper()
		annotated(t, r.path, r, 403, map[string]string{audit.RefusedAnnotation: "Condition"})
	}
	small, first := under("object.spec.replicas < 5"), under("oldObject == null")
	refused(applied(small, "a", "9"))
	applied(small, "a", "4").want(t, 201)
	applied(small, "a", "3").want(t, 200)
	refused(applied(small, "a", "7"))
	applied(first, "b", "1").want(t, 201)
	refused(applied(first, "b", "2"))
	image := applied(small, "a", "3")
	image.body = strings.Replace(image.body, `"one"`, `"two"`, 1)
	image.want(t, 403, "granular:podTemplateImage")
}

// TestConditionsInherited checks that a delegation that was created under a condition is bound
// by that condition as well.
//
// Attack: a delegate with a condition delegates to another user without the condition
// Answer: 403 when it is used
func TestConditionsInherited(t *testing.T) {
	n, _ := stage(t, deployments)
	everywhere(t, "alice", deployments)
	path := "/apis/apps/v1/namespaces/" + n + "/deployments"
	apply(t, path, deployment)
	// The condition evaluates the new delegation, too. So get on delegations is needed.
	delegates := strings.Replace(delegates, `"create"`, `"create","get"`, 1)
	first := delegation{rules: deployments + "," + delegates,
		more: `,"conditions":[{"expression":"object.kind == 'AuthorityDelegation' || object.spec.replicas < 5","message":"at most 4"}]`}
	request{as: "alice", method: "POST", path: delegations + "?dryRun=All", body: first.body("first-conditional")}.eventually(t, 201)
	a := first.by(t, "alice", "")
	b := delegation{scope: n, rules: deployments, to: `{"kind":"User","name":"other"}`}.by(t, "bot", a)
	patch := request{as: "other", method: "PATCH", path: path + "/web", under: b, contentType: mergePatch}
	patch.body = `{"spec":{"replicas":4}}`
	patch.want(t, 200)
	patch.body = `{"spec":{"replicas":5}}`
	patch.want(t, 403, "at most 4")
	request{as: "other", method: "DELETE", path: path + "/web", under: b}.want(t, 403)
}

// TestFields checks that a user that may update objects can delegate permissions for single
// fields, with or without conditions.
//
// Attack: a field that was not delegated
// Answer: 403
func TestFields(t *testing.T) {
	n, _ := stage(t, deployments)
	path := "/apis/apps/v1/namespaces/" + n + "/deployments"
	apply(t, path, deployment)
	scale := `{"apiGroups":["apps"],"resources":["deployments"],"verbs":["granular","granular:replicas"]}`
	d := delegation{scope: n, rules: scale}.by(t, "alice", "")
	patch := request{as: "bot", method: "PATCH", path: path + "/web", under: d, contentType: mergePatch}
	patch.body = `{"spec":{"replicas":4}}`
	patch.want(t, 200)
	patch.body = `{"spec":{"paused":true}}`
	patch.want(t, 403, ".spec.paused")
	// A delegation with conditions must allow get too. Otherwise its conditions would reveal fields
	// that the delegate can't read.
	patch.body = `{"spec":{"replicas":3}}`
	request{as: "alice", method: "POST", path: delegations, body: delegation{scope: n, rules: scale, more: `,"conditions":[{"expression":"true"}]`}.body("blind-fields")}.
		want(t, 422, "deployments.apps")
	patch.under = delegation{scope: n,
		rules: scale + `,{"apiGroups":["apps"],"resources":["deployments"],"verbs":["get"]}`,
		more:  `,"conditions":[{"expression":"object.spec.replicas < 5"}]`}.by(t, "alice", "")
	patch.want(t, 200)
	// Here the delegate may get the object only under a condition, so the refusals do not say
	// why.
	patch.body = `{"spec":{"replicas":9}}`
	patch.want(t, 403)
	patch.body = `{"spec":{"paused":true}}`
	patch.want(t, 403)
}

// TestObjects checks that a delegation with objectUIDs allows changes of exactly that object,
// and not of another object that later has its name.
//
// Attack: deleting and creating the object that a delegation is for
// Answer: 403
func TestObjects(t *testing.T) {
	n, _ := stage(t, configMaps)
	apply(t, maps(n), `{"metadata":{"name":"one"}}`, maps(n), `{"metadata":{"name":"two"}}`)
	uid := read1(t, maps(n)+"/one")
	d := delegation{scope: n, rules: configMaps, more: `,"objectUIDs":["` + uid + `"]`}.by(t, "alice", "")
	patch := request{as: "bot", method: "PATCH", path: maps(n) + "/one", under: d, contentType: mergePatch,
		body: `{"data":{"a":"b"}}`}
	patch.want(t, 200)
	other := patch
	other.path = maps(n) + "/two"
	other.want(t, 403, "does not include this object in objectUIDs")
	request{as: "bot", method: "POST", path: maps(n), under: d, body: `{"metadata":{"name":"three"}}`}.want(t, 403)
	request{as: "bot", method: "DELETE", path: maps(n) + "/two", under: d}.want(t, 403)
	request{as: "bot", method: "DELETE", path: maps(n), under: d}.want(t, 403)
	request{as: "bot", method: "DELETE", path: maps(n) + "/one", under: d}.want(t, 200)
	apply(t, maps(n), `{"metadata":{"name":"one"}}`)
	patch.want(t, 403, "does not include this object in objectUIDs")
}

func read1(t *testing.T, path string) string {
	t.Helper()
	got := request{as: "root", method: "GET", path: path}.want(t, http.StatusOK)
	_, rest, _ := strings.Cut(got.body, `"uid":"`)
	uid, _, _ := strings.Cut(rest, `"`)
	return uid
}
