// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"kube-granular.dev/api/selection"
)

// TestForgedStamps checks that only the server writes the stamp of an object, on every path,
// and that the key of a stamp has no meaning on other kinds.
//
// Attack: a stamp that names another's delegation, in a create, an update, each kind of patch, a
// binding or a template
// Answer: the write is stored without it
func TestForgedStamps(t *testing.T) {
	n, _ := stage(t, both+`,{"apiGroups":[""],"resources":["pods","pods/binding","pods/status","pods/ephemeralcontainers","bindings"],"verbs":["create","update","patch"]}`)
	secret := delegation{scope: n, rules: configMaps}.by(t, "alice", "")
	forged := named(secret)
	// No policy uses the key "else", but only the server may write keys with this suffix.
	name, own := policy{namespace: n, rules: getPods}.made(t)
	path := maps(n) + "/c"
	request{as: "alice", method: "POST", path: maps(n),
		body: configMap("c", "x", own, forged, "configmaps"+selection.StampSuffix+"/else", forged)}.want(t, 201)
	is := stamped(t, path, own)
	if is == forged || is == "" || stamped(t, path, "configmaps"+selection.StampSuffix+"/else") != "" {
		t.Fatalf("stamped %q", is)
	}
	grant(t, n, "other", configMaps)
	request{as: "root", method: "POST", path: "/apis/authorization.k8s.io/v1/subjectaccessreviews"}.reviewed(t, "other", n, "create", [2]string{"", "configmaps"})
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, own, forged)
	escaped := strings.ReplaceAll(own, "/", "~1")
	for kind, body := range map[string]string{
		"application/merge-patch+json": patch, "application/strategic-merge-patch+json": patch,
		"application/json-patch+json":       fmt.Sprintf(`[{"op":"replace","path":"/metadata/annotations/%s","value":%q}]`, escaped, forged),
		"application/apply-patch+yaml":      fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","annotations":{%q:%q}}}`, own, forged),
		"application/merge-patch+json; x=1": fmt.Sprintf(`{"metadata":{"annotations":{%q:null}}}`, own),
	} {
		query := ""
		if strings.Contains(kind, "apply") {
			query = "?fieldManager=x&force=true"
		}
		request{as: "other", method: "PATCH", path: path + query, contentType: kind, body: body}.want(t, 200)
		if got := stamped(t, path, own); got != is {
			t.Errorf("%s: stamped %q", kind, got)
		}
	}
	request{as: "other", method: "PUT", path: path, body: configMap("c", "x", own, forged)}.want(t, 200)
	request{as: "other", method: "PUT", path: path, body: configMap("c", "x")}.want(t, 200)
	if got := stamped(t, path, own); got != is {
		t.Errorf("an update stamped %q", got)
	}
	// The same for a pod: by its own metadata, its status, and a binding.
	pod := "pods" + selection.StampSuffix + "/" + name
	apply(t, "/api/v1/namespaces/"+n+"/serviceaccounts", `{"metadata":{"name":"default"}}`)
	request{as: "alice", method: "POST", path: pods(n),
		body: fmt.Sprintf(`{"metadata":{"name":"p","annotations":{%q:%q,%q:"copied"}},"spec":{"containers":[{"name":"c","image":"i"}]}}`, pod, forged, own)}.eventually(t, 201)
	meta := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, pod, forged)
	request{as: "alice", method: "PATCH", path: pods(n) + "/p/status", contentType: "application/merge-patch+json",
		body: meta}.want(t, 200)
	request{as: "alice", method: "PATCH", path: pods(n) + "/p/ephemeralcontainers",
		contentType: "application/merge-patch+json", body: meta}.want(t, 200)
	bind := fmt.Sprintf(`{"metadata":{"name":"p","annotations":{%q:%q}},"target":{"name":"node"}}`, pod, forged)
	request{as: "alice", method: "POST", path: pods(n) + "/p/binding", body: bind}.want(t, 201)
	request{as: "alice", method: "POST", path: pods(n),
		body: `{"metadata":{"name":"q"},"spec":{"containers":[{"name":"c","image":"i"}]}}`}.want(t, 201)
	request{as: "alice", method: "POST", path: "/api/v1/namespaces/" + n + "/bindings",
		body: strings.Replace(bind, `"p"`, `"q"`, 1)}.want(t, 201)
	for _, p := range []string{"p", "q"} {
		if got := stamped(t, pods(n)+"/"+p, pod); got != "" {
			t.Errorf("pod %s is stamped %q", p, got)
		}
	}
	if got := stamped(t, pods(n)+"/p", own); got != "copied" {
		t.Errorf("the key of another kind is %q", got)
	}
}

// TestPolicyChain checks a policy for objects that are written under a delegation. The new
// delegation is part of the chain: it ends with the first one and allows no more than that.
//
// Attack: a delegate tries to get more rights by writing an object that triggers a delegation
// Answer: 403
func TestPolicyChain(t *testing.T) {
	secrets := `{"apiGroups":[""],"resources":["secrets"],"verbs":["create","get","patch"]}`
	n, _ := stage(t, both+","+secrets)
	// The first policy delegates to bot, which may create secrets under it. The second policy
	// acts on these secrets, and delegates the rights of alice further.
	first, stamp := policy{namespace: n, rules: secrets + "," + getPods}.made(t)
	second, below := policy{resource: "/secrets", namespace: n, rules: getPods}.made(t)
	// The second policy names other as the delegate, because bot can't delegate to itself.
	toOther := strings.Replace(policy{resource: "/secrets", namespace: n, rules: getPods}.body(second), toBot, `{"kind":"User","name":"other"}`, 1)
	request{as: "root", method: "PUT", path: policies + "/" + second, body: toOther}.want(t, 200)
	root := request{as: "alice", method: "POST", path: maps(n), body: configMap("c", "x")}.want(t, 201).annotations(t)[stamp]
	made := request{as: "bot", method: "POST", path: "/api/v1/namespaces/" + n + "/secrets",
		body: `{"metadata":{"name":"s"}}`, under: root}.want(t, 201)
	child := made.annotations(t)[below]
	all := caused(t, second)
	if len(all) != 1 || len(all[0].Status.History) != 1 || all[0].Status.History[0].By != "alice" || all[0].Status.Delegator.Username != "bot" {
		t.Fatalf("%+v", all)
	}
	request{as: "other", method: "GET", path: pods(n), under: child}.want(t, 200)
	// Under a delegation, too, only the server writes stamps.
	secret := "/api/v1/namespaces/" + n + "/secrets/s"
	label := request{as: "bot", method: "PATCH", path: secret, contentType: "application/merge-patch+json",
		body: `{"metadata":{"labels":{"a":"b"},"annotations":{"` + below + `":"x"}}}`, under: root}
	if got := label.want(t, 200).annotations(t)[below]; got != child {
		t.Errorf("stamped %q by an update under a delegation, wanted %q", got, child)
	}
	// Under a delegation that lacks a right of the second policy, bot can't create a secret.
	less := delegation{scope: n, rules: secrets}.by(t, "alice", "")
	request{as: "bot", method: "POST", path: "/api/v1/namespaces/" + n + "/secrets",
		body: `{"metadata":{"name":"less"}}`, under: less}.want(t, 403, second)
	request{as: "root", method: "DELETE", path: delegations + "/" + caused(t, first)[0].Name}.want(t, 200)
	request{as: "other", method: "GET", path: pods(n), under: child}.want(t, 403)
	request{as: "bot", method: "POST", path: "/api/v1/namespaces/" + n + "/secrets",
		body: `{"metadata":{"name":"after"}}`, under: root}.want(t, 403)
	// The next write of alice makes a new delegation.
	again := request{as: "alice", method: "PUT", path: maps(n) + "/c", body: configMap("c", "y")}.want(t, 200).annotations(t)[stamp]
	if again == root || again == "" {
		t.Errorf("stamped %q", again)
	}
	request{as: "bot", method: "GET", path: pods(n), under: again}.want(t, 200)
}

// TestLeftStamps checks an object that its policy no longer applies to, because the policy
// selects other namespaces or is deleted. The first change of the specification removes the
// stamp.
//
// Attack: relabelling the namespace, or waiting until the policy is gone, to change what runs with another
// user's authority
// Answer: the write is stored, without a stamp
func TestLeftStamps(t *testing.T) {
	for name, leave := range map[string]func(t *testing.T, n, policy string){
		"the namespace leaves": func(t *testing.T, _, policy string) {
			body := `{"spec":{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"elsewhere"}}}}`
			request{as: "root", method: "PATCH", path: policies + "/" + policy,
				contentType: "application/merge-patch+json", body: body}.want(t, 200)
		},
		"the policy goes": func(t *testing.T, _, policy string) {
			request{as: "root", method: "DELETE", path: policies + "/" + policy}.want(t, 200)
		},
	} {
		t.Run(name, func(t *testing.T) {
			n, _ := stage(t, editors+","+getPods)
			name := fmt.Sprintf("left-%d", unique.Add(1))
			apply(t, policies, policy{resource: "apps/deployments", namespace: n, rules: getPods}.body(name))
			t.Cleanup(func() {
				_, _ = request{as: "root", method: "DELETE", path: policies + "/" + name}.do(context.Background())
			})
			stamp := "deployments.apps" + selection.StampSuffix + "/" + name
			path := "/apis/apps/v1/namespaces/" + n + "/deployments"
			request{as: "alice", method: "POST", path: path,
				body: `{"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`}.want(t, 201)
			is := stamped(t, path+"/d", stamp)
			leave(t, n, name)
			grant(t, n, "other", editors)
			request{as: "root", method: "POST", path: "/apis/authorization.k8s.io/v1/subjectaccessreviews"}.reviewed(t, "other", n, "create", [2]string{"apps", "deployments"})
			patch := request{as: "other", method: "PATCH", path: path + "/d",
				contentType: "application/merge-patch+json"}
			for _, patch.body = range []string{`{"metadata":{"labels":{"x":"y"}}}`, `{"spec":{"replicas":3}}`, `{"metadata":{"annotations":{"` + stamp + `":"x"}}}`} {
				patch.want(t, 200)
				if got := stamped(t, path+"/d", stamp); got != is || is == "" {
					t.Errorf("%s: stamped %q, wanted %q", patch.body, got, is)
				}
			}
			patch.body = `{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"mine"}]}}}}`
			patch.want(t, 200)
			if got := stamped(t, path+"/d", stamp); got != "" {
				t.Errorf("still stamped %q", got)
			}
		})
	}
}
