// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package chain

import (
	"net/http"
	"strings"
	"testing"

	"kube-granular.dev/test/integration/harness"
)

const (
	aboutObjects = "has(request.resourceAttributes)"
	// writes is a condition that is true for the verbs of requests that write objects.
	writes = "request.resourceAttributes.verb in ['create', 'update', 'patch', 'delete', 'deletecollection']"
	// isGranular is a condition that is true for granular and for permission verbs.
	isGranular  = "request.resourceAttributes.verb == 'granular' || request.resourceAttributes.verb.startsWith('granular:')"
	notGranular = "!(" + isGranular + ")"
)

const definition = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"kept.chain.example.com"},
"spec":{"group":"chain.example.com","scope":"Namespaced","names":{"plural":"kept","kind":"Kept"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`

// TestStory1 tests story 1 of KEP-3221: a webhook that is filtered by verb denies changes of
// certain CustomResourceDefinitions. A granular request can't avoid it, because the chain is
// asked about the verb of the request first, and a Deny is final. A verb that the filter leaves
// out is not denied to anybody, with or without granular verbs.
func TestStory1(t *testing.T) {
	must(t, http.MethodPost, harness.Definitions, "json", definition)
	path := harness.Definitions + "/kept.chain.example.com"
	crds := []string{"customresourcedefinitions", "customresourcedefinitions/status"}
	for _, user := range []string{"story1", "superuser"} {
		allow(t, user, "apiextensions.k8s.io", crds, own...)
	}
	allow(t, "story1-editor", "apiextensions.k8s.io", crds, "update", "patch", "delete", "get")
	asked := &asking{}
	h := newHook(t, asked, "system-crd-protector", `
deny:
- apiGroups: ["apiextensions.k8s.io"]
  resources: ["customresourcedefinitions", "customresourcedefinitions/*"]
  names: ["kept.chain.example.com"]
  reason: the definition is protected
`)
	// The conditions are those of the KEP, without the one about the namespace, because
	// definitions have no namespace.
	protector := func(verbs string) string {
		return h.in(settings{match: []string{aboutObjects, "request.user != 'superuser'", verbs}})
	}
	put := func(user string) harness.Answer {
		now := strings.Replace(string(must(t, http.MethodGet, path, "", "").Body), `"metadata":{`, `"metadata":{"labels":{"own.example.com/l":"`+user+`"},`, 1)
		return send(t, user, http.MethodPut, path, "json", now)
	}

	t.Run("with the verbs of the KEP", func(t *testing.T) {
		use(t, protector("request.resourceAttributes.verb in ['update', 'delete', 'deletecollection']"), node, rbac)
		for _, user := range []string{"story1", "story1-editor"} {
			asked.forget()
			expect(t, put(user), 403, "the definition is protected")
			equal(t, "update by "+user, asked.verbs(user), []string{"system-crd-protector update"})
			// The KEP's list of verbs lacks patch, so the webhook stops nobody's patch.
			expect(t, send(t, user, http.MethodPatch, path, "merge", label(user)), 200, "")
		}
		expect(t, send(t, "story1-editor", http.MethodDelete, path, "", ""), 403, "the definition is protected")
		// A delete is never granular.
		expect(t, send(t, "story1", http.MethodDelete, path, "", ""), 403, "the definition is protected")
	})
	t.Run("with all verbs that write", func(t *testing.T) {
		use(t, protector(writes), node, rbac)
		for _, user := range []string{"story1", "story1-editor"} {
			asked.forget()
			expect(t, put(user), 403, "the definition is protected")
			expect(t, send(t, user, http.MethodPatch, path, "merge", label("2")), 403, "the definition is protected")
			expect(t, send(t, user, http.MethodPatch, path+"/status", "merge", label("2")), 403, "the definition is protected")
			equal(t, "by "+user, asked.verbs(user), []string{"system-crd-protector update", "system-crd-protector patch", "system-crd-protector patch"})
		}
		// The twin: the filter leaves superuser out.
		expect(t, put("superuser"), 200, "")
		expect(t, send(t, "superuser", http.MethodPatch, path, "merge", label("3")), 200, "")
		equal(t, "about the excepted", asked.verbs("superuser"), nil)
	})
}

// TestStory2 tests story 2 of KEP-3221: one webhook before RBAC denies, and another after RBAC
// decides about the rest. The server asks the whole chain about one verb of a granular request
// before it asks about the next verb.
func TestStory2(t *testing.T) {
	path := made(t, "default")
	allow(t, "story2", "", []string{"configmaps"}, "granular")
	asked := &asking{}
	first := newHook(t, asked, "first", `deny: [{users: [story2], verbs: ["granular:labels"], reason: no labels as such}]`)
	last := newHook(t, asked, "opa", `
allow:
- {users: [story2], verbs: ["granular:label(own.example.com)", "get"], resources: [configmaps]}
- {users: [story2], verbs: ["granular:labels"]}
`)
	use(t, first.in(settings{match: []string{aboutObjects}}), node, rbac, last.in(settings{match: []string{aboutObjects, "request.resourceAttributes.namespace == 'default'"}}))
	expect(t, send(t, "story2", http.MethodPatch, path, "merge", label(1)), 200, "")
	equal(t, "in order", asked.verbs("story2"), []string{
		"first patch", "opa patch",
		"first granular", // RBAC allows it
		"first granular:metadata", "opa granular:metadata",
		"first granular:labels", // denied: this permission covers nothing, and the next is asked
		"first granular:label(own.example.com)", "opa granular:label(own.example.com)",
		"first get", "opa get",
	})
	// The twin: the last webhook no longer allows the label.
	replace(t, last.policy, `allow: [{users: [story2], verbs: ["granular:labels"]}]`)
	expect(t, send(t, "story2", http.MethodPatch, path, "merge", label(2)), 403, "cannot change .metadata.labels[own.example.com/l]")
}

// TestStory3 tests story 3 of KEP-3221: a webhook denies a request to everybody but the group
// system:masters, whose authorizer comes before the configured ones.
func TestStory3(t *testing.T) {
	path := made(t, "default")
	allow(t, "story3", "", []string{"configmaps"}, own...)
	asked := &asking{}
	h := newHook(t, asked, "nobody", `deny: [{resources: [configmaps], reason: nobody may}]`)
	use(t, h.in(settings{}), node, rbac)
	expect(t, send(t, "story3", http.MethodPatch, path, "merge", label(1)), 403, "nobody may")
	equal(t, "about a caller", asked.verbs("story3"), []string{"nobody patch"})
	must(t, http.MethodPatch, path, "merge", label(2))
	master := harness.Impersonating("story3-master", "system:masters")
	code, body, err := harness.RequestBy(on, "admin", master, http.MethodPatch, path, harness.ContentTypes["merge"], label(3))
	if err != nil || code != 200 {
		t.Errorf("%d %s %v", code, body, err)
	}
	equal(t, "about a master", asked.verbs("story3-master"), nil)
}

// TestStory4 tests story 4 of KEP-3221: a webhook in front of RBAC confines a user with a
// privileged role to one namespace. It confines a user with granular verbs everywhere in the
// same way.
func TestStory4(t *testing.T) {
	inside, outside := namespace(t), namespace(t)
	in, out := made(t, inside), made(t, outside)
	allow(t, "story4-editor", "", []string{"configmaps"}, "*")
	for _, user := range []string{"story4", "story4-free"} {
		allow(t, user, "", []string{"configmaps"}, own...)
	}
	asked := &asking{}
	h := newHook(t, asked, "scope", `deny: [{users: [story4-editor, story4], reason: outside of your namespace}]`)
	use(t, h.in(settings{match: []string{aboutObjects, "request.resourceAttributes.namespace != '" + inside + "'"}}), node, rbac)
	for _, user := range []string{"story4-editor", "story4"} {
		asked.forget()
		expect(t, send(t, user, http.MethodPatch, in, "merge", label(1)), 200, "")
		equal(t, "inside", asked.verbs(user), nil)
		expect(t, send(t, user, http.MethodPatch, out, "merge", label(1)), 403, "outside of your namespace")
		equal(t, "outside", asked.verbs(user), []string{"scope patch"})
	}
	expect(t, send(t, "story4-free", http.MethodPatch, out, "merge", label(1)), 200, "")
}

// TestStory5 tests story 5 of KEP-3221: granular requests work with every version of the
// configuration, with the defaults of that version.
func TestStory5(t *testing.T) {
	path := made(t, "default")
	for _, version := range []string{"v1alpha1", "v1beta1", "v1"} {
		t.Run(version, func(t *testing.T) {
			user := "story5-" + version
			asked := &asking{}
			h := newHook(t, asked, "fields-"+version, `allow: [{users: [`+user+`], verbs: [granular, "granular:labels", get]}]`)
			config := `apiVersion: apiserver.config.k8s.io/` + version + `
kind: AuthorizationConfiguration
authorizers:
- type: Webhook
  name: ` + h.name + `
  webhook:
    timeout: 10s
    subjectAccessReviewVersion: v1
    failurePolicy: Deny
    connectionInfo: {type: KubeConfigFile, kubeConfigFile: ` + h.kubeconfig + `}
` + node + rbac
			load(t, config, "success")
			t.Cleanup(func() { load(t, chained(nodeAndRBAC...), "success") })
			for i := range 2 {
				expect(t, send(t, user, http.MethodPatch, path, "merge", label(i)), 200, "")
			}
			// By default, the server caches both allowed and refused checks.
			equal(t, "twice", asked.verbs(user), []string{
				h.name + " patch", h.name + " granular", h.name + " granular:metadata", h.name + " granular:labels", h.name + " get",
			})
		})
	}
}

// TestStory6 tests story 6 of KEP-3221: match conditions skip a webhook for certain users. In
// the same way they can keep permission verbs from one webhook, and send only those to another.
func TestStory6(t *testing.T) {
	path := made(t, "default")
	allow(t, "story6", "", []string{"configmaps"}, "granular", "get")
	allow(t, "story6-skipped", "", []string{"configmaps"}, "granular", "granular:labels", "get")
	asked := &asking{}
	ordinary := newHook(t, asked, "ordinary", "")
	fields := newHook(t, asked, "fields", `allow: [{users: [story6], verbs: ["granular:label(own.example.com)"]}]`)
	skip := "!(request.user == 'story6-skipped')"
	use(t,
		ordinary.in(settings{match: []string{aboutObjects, skip, notGranular}}),
		fields.in(settings{match: []string{aboutObjects, skip, isGranular}}), node, rbac)
	expect(t, send(t, "story6", http.MethodPatch, path, "merge", label(1)), 200, "")
	equal(t, "split", asked.verbs("story6"), []string{
		"ordinary patch", "fields granular", "fields granular:metadata", "fields granular:labels", "fields granular:label(own.example.com)", "ordinary get",
	})
	expect(t, send(t, "story6", http.MethodPatch, path, "merge", `{"data":{"a":"b"}}`), 403, "cannot change .data")
	expect(t, send(t, "story6-skipped", http.MethodPatch, path, "merge", label(2)), 200, "")
	equal(t, "about who is skipped", asked.verbs("story6-skipped"), nil)
}
