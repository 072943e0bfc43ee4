// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"kube-granular.dev/pkg/exclusion"
	"kube-granular.dev/test/integration/cluster"
	"kube-granular.dev/test/integration/harness"
	"kube-granular.dev/test/integration/harness/etcd"
)

// rollout is a cluster in the middle of a change of the gate: two servers, one etcd.
type rollout struct{ on, off *cluster.Cluster }

// get returns an object as a server has it.
func (r rollout) get(t *testing.T, c *cluster.Cluster, path string) map[string]any {
	t.Helper()
	out := map[string]any{}
	if code, answer := r.send(t, c, "", http.MethodGet, path, "", nil); code != http.StatusOK || json.Unmarshal([]byte(answer), &out) != nil {
		t.Fatalf("%s: %d %s", path, code, answer)
	}
	return out
}

func (rollout) send(t *testing.T, c *cluster.Cluster, user, method, path, contentType string, body any) (int, string) {
	t.Helper()
	text := ""
	if body != nil {
		text = mustJSON(t, body)
	}
	code, answer, err := harness.Request(c, user, method, path, harness.ContentTypes[contentType], text)
	if err != nil {
		t.Fatal(err)
	}
	return code, answer
}

// define installs a vault through the server with the gate on. It returns the paths of the definition and of its objects.
func (r rollout) define(t *testing.T, change func(map[string]any)) (definition, collection string) {
	t.Helper()
	plural := fmt.Sprintf("boxes%d", harness.Unique())
	name, crd := plural+".vaults.example.com", vault(plural)
	if change != nil {
		change(crd)
	}
	harness.Define(t, r.on, name, mustJSON(t, crd))
	collection = "/apis/vaults.example.com/v1/" + plural
	harness.WaitServed(t, r.on, collection)
	return harness.Definitions + "/" + name, collection
}

// creates returns the code of a create that sets one field.
func (r rollout) creates(t *testing.T, c *cluster.Cluster, user, collection, field string) int {
	t.Helper()
	plural := collection[strings.LastIndex(collection, "/")+1:]
	code, _ := r.send(t, c, user, http.MethodPost, collection, "json", map[string]any{"apiVersion": "vaults.example.com/v1",
		"kind": strings.ToUpper(plural[:1]) + plural[1:], "metadata": map[string]any{"generateName": "x-"}, "spec": map[string]any{field: "x"}})
	return code
}

// twice is a second version with the same schema.
func twice(crd map[string]any) {
	versions := harness.ValueAt(crd, "spec", "versions").([]any)
	second := map[string]any{"name": "v2", "served": true, "storage": false, "schema": versions[0].(map[string]any)["schema"]}
	harness.SetAt(crd, append(versions, second), "spec", "versions")
}

// TestExclusionsThroughAServerWithTheGateOff checks that a server with the gate off keeps what a stored definition excludes,
// on every way on which a definition is written, so that a change of the gate, one server after the other, opens nothing on the
// servers that have the gate on.
//
// Attack: while the servers differ in the gate, a caller with update on a definition writes it without its exclusions through a
// server with the gate off, by any verb, or falsifies its status
// Answer: as through the other servers: the stored extensions stay, with a warning, or 403
// Was: got through
// Held by: TestKeepWithTheGateOff
func TestExclusionsThroughAServerWithTheGateOff(t *testing.T) {
	endpoint := etcd.Start(t)
	r := rollout{
		on:  harness.Start(t, "--demo=false", "--etcd-servers", endpoint),
		off: harness.Start(t, "--demo=false", "--etcd-servers", endpoint, "--feature-gates", "GranularAuthorization=false"),
	}
	client, admin := harness.Connect(t, r.off, "admin"), harness.Administrator(t, r.on)
	verbs := []string{"get", "create", "update", "patch", "delete"}
	definitions := rbacv1.PolicyRule{APIGroups: []string{"apiextensions.k8s.io"}, Verbs: verbs,
		Resources: []string{"customresourcedefinitions", "customresourcedefinitions/status"}}
	vaults := rbacv1.PolicyRule{APIGroups: []string{"vaults.example.com"}, Resources: []string{"*"}, Verbs: verbs[:3]}
	weaken := rbacv1.PolicyRule{APIGroups: definitions.APIGroups, Resources: definitions.Resources[:1], Verbs: []string{exclusion.Verb}}
	const editor, weakener = "typed", "weakener"
	harness.Allow(t, admin, editor, definitions, vaults)
	harness.Allow(t, admin, weakener, definitions, vaults, weaken)
	harness.Until(t, "the server with the gate off knows the roles", func() bool {
		for _, user := range []string{editor, weakener} {
			if code, _ := r.send(t, r.off, user, http.MethodGet, harness.Definitions+"/none", "", nil); code != http.StatusNotFound {
				return false
			}
		}
		return true
	})

	t.Run("updates", func(t *testing.T) { r.updates(t, client, editor, weakener) })
	t.Run("one version", func(t *testing.T) {
		path, collection := r.define(t, twice)
		before := r.get(t, r.on, path)
		second := strings.Replace(secretOf, "versions/0", "versions/1", 1)
		for name, patch := range map[string][]any{
			"all extensions": {map[string]any{"op": "remove", "path": second + "/x-kubernetes-permission-excluded"},
				map[string]any{"op": "remove", "path": second + "/x-kubernetes-permission-verb"}},
			"the exclusion": {map[string]any{"op": "remove", "path": second + "/x-kubernetes-permission-excluded"}},
		} {
			// The versions would disagree, which is a mistake.
			code, answer := r.send(t, r.off, editor, http.MethodPatch, path, "jsonpatch", patch)
			if code != http.StatusUnprocessableEntity || !strings.Contains(answer, "vaults.example.com/secret") {
				t.Errorf("%s: %d %s", name, code, answer)
			}
			r.unchanged(t, before, path, collection, editor)
		}
	})
	t.Run("nothing changes", func(t *testing.T) {
		path, collection := r.define(t, nil)
		before := r.get(t, r.on, path)
		migrated := map[string]any{"apiVersion": before["apiVersion"], "kind": before["kind"], "metadata": map[string]any{
			"name": harness.ValueAt(before, "metadata", "name"), "uid": harness.ValueAt(before, "metadata", "uid")}}
		for _, write := range []weakening{
			{"the migrator of storage versions", http.MethodPatch, "apply", func(map[string]any) any { return migrated }},
			{"a client that knows the extensions", http.MethodPut, "json", func(live map[string]any) any { return live }},
		} {
			a := write.send(t, client, editor, path, "?fieldManager=migrator", r.get(t, r.off, path))
			if a.Code != http.StatusOK || len(a.Warnings()) > 0 {
				t.Errorf("%s: %s, warned of %q", write.name, a, a.Warnings())
			}
			r.unchanged(t, before, path, collection, editor)
		}
	})
	t.Run("the status", func(t *testing.T) {
		path, collection := r.define(t, nil)
		before := r.get(t, r.on, path)
		for _, tc := range []struct{ name, body, field string }{
			{"conditions", `{"status":{"conditions":[]}}`, ".status.conditions"},
			{"a name", `{"status":{"acceptedNames":{"plural":"others"}}}`, ".status.acceptedNames.plural"},
		} {
			code, answer := r.send(t, r.off, editor, http.MethodPatch, path+"/status", "merge", json.RawMessage(tc.body))
			refusedBy(t, code, answer, tc.field)
			code, answer = r.send(t, r.off, weakener, http.MethodPatch, path+"/status?dryRun=All", "merge", json.RawMessage(tc.body))
			if code != http.StatusOK {
				t.Errorf("%s, with the verb: %d %s", tc.name, code, answer)
			}
		}
		sent := map[string]any{"spec": map[string]any{"versions": []any{}}, "status": map[string]any{"storedVersions": []any{"v1"}}}
		if code, answer := r.send(t, r.off, editor, http.MethodPatch, path+"/status", "merge", sent); code != http.StatusOK {
			t.Errorf("another part of the status: %d %s", code, answer)
		}
		r.unchanged(t, before, path, collection, editor)
	})
	t.Run("a finalizer", func(t *testing.T) {
		path, collection := r.define(t, nil)
		plural := collection[strings.LastIndex(collection, "/")+1:]
		held := map[string]any{"apiVersion": "vaults.example.com/v1", "kind": strings.ToUpper(plural[:1]) + plural[1:],
			"metadata": map[string]any{"name": "x", "finalizers": []any{"vaults.example.com/hold"}}}
		if code, answer := r.send(t, r.on, "", http.MethodPost, collection, "json", held); code != http.StatusCreated {
			t.Fatalf("%d %s", code, answer)
		}
		if code, answer := r.send(t, r.off, editor, http.MethodDelete, path, "", nil); code != http.StatusOK {
			t.Fatalf("%d %s", code, answer)
		}
		var code int
		var answer string
		finalized := json.RawMessage(`{"metadata":{"finalizers":null}}`)
		harness.Until(t, "no conflict", func() bool {
			code, answer = r.send(t, r.off, editor, http.MethodPatch, path, "merge", finalized)
			return code != http.StatusConflict
		})
		refusedBy(t, code, answer, ".metadata.finalizers")
	})
	t.Run("deleted and created again", func(t *testing.T) { r.createdAgain(t, client, editor) })
	t.Run("without extensions", func(t *testing.T) { r.asUpstream(t, client, editor) })
}

// updates sends every update that weakens an exclusion through the server with the gate off.
func (r rollout) updates(t *testing.T, client *harness.Client, editor, weakener string) {
	for i, w := range append(slices.Clone(keptWeakenings), refusedWeakenings...) {
		refused := i >= len(keptWeakenings)
		t.Run(w.name, func(t *testing.T) {
			path, collection := r.define(t, nil)
			before := r.get(t, r.on, path)
			a := w.send(t, client, editor, path, "?fieldManager=typed", r.get(t, r.off, path))
			warnings := strings.Join(a.Warnings(), " ")
			switch {
			case refused:
				refusedBy(t, a.Code, string(a.Body), ".spec.")
			case a.Code != http.StatusOK || !strings.Contains(warnings, exclusion.Verb) || !strings.Contains(warnings, ".spec.secret"):
				t.Errorf("without the verb: %s, warned of %q", a, warnings)
			case harness.ValueAt(r.get(t, r.on, path), "metadata", "labels", "written") != "yes":
				t.Error("the label was not written")
			}
			r.unchanged(t, before, path, collection, editor)
			a = w.send(t, client, weakener, path, "?fieldManager=keeper", r.get(t, r.off, path))
			if a.Code != http.StatusOK || !strings.Contains(strings.Join(a.Warnings(), " "), ".spec.") {
				t.Errorf("with the verb: %s, warned of %q", a, a.Warnings())
			}
			if reflect.DeepEqual(before["spec"], r.get(t, r.on, path)["spec"]) {
				t.Error("with the verb, nothing changed")
			}
		})
	}
}

// unchanged checks that a definition is as before, and that its excluded field is closed to a holder of create on the server
// with the gate on. On the other one it is open.
func (r rollout) unchanged(t *testing.T, before map[string]any, path, collection, user string) {
	t.Helper()
	for name, c := range map[string]*cluster.Cluster{"on": r.on, "off": r.off} {
		if now := r.get(t, c, path); !reflect.DeepEqual(before["spec"], now["spec"]) {
			t.Errorf("%s: the definition was\n%v\nand is\n%v", name, before["spec"], now["spec"])
		}
	}
	for _, tc := range []struct {
		c     *cluster.Cluster
		field string
		code  int
	}{{r.on, "secret", http.StatusForbidden}, {r.on, "a", http.StatusCreated}, {r.off, "secret", http.StatusCreated}} {
		harness.WaitServed(t, tc.c, collection)
		if code := r.creates(t, tc.c, user, collection, tc.field); code != tc.code {
			t.Errorf("%s: %d, want %d", tc.field, code, tc.code)
		}
	}
}

// createdAgain holds what is not guarded: who deletes a definition loses its objects, and what a server with the gate off creates
// has no extensions, whichever verb creates it.
func (r rollout) createdAgain(t *testing.T, client *harness.Client, user string) {
	path, collection := r.define(t, nil)
	if code := r.creates(t, r.on, user, collection, "a"); code != http.StatusCreated {
		t.Fatal(code)
	}
	crd := appliedAs(r.get(t, r.on, path))
	create := map[string]weakening{
		"PUT":    {"", http.MethodPut, "json", func(map[string]any) any { return crd }},
		"create": {"", http.MethodPost, "json", func(map[string]any) any { return crd }},
		"apply":  {"", http.MethodPatch, "apply", func(map[string]any) any { return crd }},
	}
	for _, tc := range []struct {
		verb, path string
		code       int
	}{{"PUT", path, http.StatusNotFound}, {"create", harness.Definitions, http.StatusCreated}, {"apply", path, http.StatusCreated}} {
		if code, answer := r.send(t, r.off, user, http.MethodDelete, path, "", nil); code != http.StatusOK && code != http.StatusNotFound {
			t.Fatalf("%s: %d %s", tc.verb, code, answer)
		}
		for _, c := range []*cluster.Cluster{r.on, r.off} {
			harness.Until(t, "the definition is gone", func() bool {
				code, _ := r.send(t, c, "", http.MethodGet, path, "", nil)
				return code == http.StatusNotFound
			})
		}
		a := create[tc.verb].send(t, client, user, tc.path, "?fieldManager=typed", nil)
		if a.Code != tc.code || (a.Code == http.StatusCreated) != strings.Contains(strings.Join(a.Warnings(), " "), "is dropped") {
			t.Errorf("%s: %s, warned of %q", tc.verb, a, a.Warnings())
		}
		if a.Code != http.StatusCreated {
			continue
		}
		harness.WaitServed(t, r.off, collection)
		if list := r.get(t, r.off, collection); len(list["items"].([]any)) > 0 {
			t.Errorf("%s: the objects outlived the definition: %v", tc.verb, list)
		}
		if now := r.get(t, r.on, path); !reflect.DeepEqual(withoutExtensions(crd)["spec"], now["spec"]) {
			t.Errorf("%s: it is\n%v", tc.verb, now["spec"])
		}
	}
}

// asUpstream holds that a definition whose stored form has no extensions is written as by upstream's server.
func (r rollout) asUpstream(t *testing.T, client *harness.Client, user string) {
	path, collection := r.define(t, func(crd map[string]any) { harness.SetAt(crd, withoutExtensions(crd)["spec"], "spec") })
	for _, w := range refusedWeakenings {
		if w.name == "a conversion webhook comes" {
			continue // then nothing is served any more
		}
		a := w.send(t, client, user, path, "?fieldManager=typed&dryRun=All", r.get(t, r.off, path))
		if a.Code != http.StatusOK || len(a.Warnings()) > 0 {
			t.Errorf("%s: %s, warned of %q", w.name, a, a.Warnings())
		}
	}
	forged := json.RawMessage(`{"status":{"acceptedNames":{"plural":"others"},"conditions":[]}}`)
	if code, answer := r.send(t, r.off, user, http.MethodPatch, path+"/status?dryRun=All", "merge", forged); code != http.StatusOK {
		t.Errorf("the status: %d %s", code, answer)
	}
	before := r.get(t, r.on, path)
	excluding := []any{map[string]any{"op": "add", "path": secretOf + "/x-kubernetes-permission-verb", "value": "vaults.example.com/secret"},
		map[string]any{"op": "add", "path": secretOf + "/x-kubernetes-permission-excluded", "value": true}}
	if code, answer := r.send(t, r.off, user, http.MethodPatch, path, "jsonpatch", excluding); code != http.StatusOK {
		t.Errorf("%d %s", code, answer)
	}
	if now := r.get(t, r.on, path); !reflect.DeepEqual(before["spec"], now["spec"]) {
		t.Errorf("extensions of a definition that had none are stored:\n%v", now["spec"])
	}
	if code := r.creates(t, r.on, user, collection, "secret"); code != http.StatusCreated {
		t.Errorf("an open field: %d", code)
	}
}
