// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"kube-granular.dev/pkg/audit"
	"kube-granular.dev/pkg/exclusion"
	"kube-granular.dev/test/integration/harness"
)

// vault returns a definition with the excluded field .spec.secret and an included permission.
func vault(plural string) map[string]any {
	text := func() map[string]any { return map[string]any{"type": "string"} }
	secret := text()
	secret["x-kubernetes-permission-verb"], secret["x-kubernetes-permission-excluded"] = "vaults.example.com/secret", true
	spec := map[string]any{"type": "object", "x-kubernetes-permission-verb": "specification",
		"properties": map[string]any{"a": text(), "secret": secret}}
	kind := strings.ToUpper(plural[:1]) + plural[1:]
	return map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": plural + ".vaults.example.com"},
		"spec": map[string]any{
			"group": "vaults.example.com", "scope": "Cluster", "conversion": map[string]any{"strategy": "None"},
			"names": map[string]any{"plural": plural, "singular": plural, "kind": kind, "listKind": kind + "List"},
			"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "properties": map[string]any{"spec": spec}}}}},
		},
	}
}

// withoutExtensions returns a definition as a client writes it that reads it into upstream's Go
// types, which have no permission extensions.
func withoutExtensions(definition map[string]any) map[string]any {
	var drop func(any) any
	drop = func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			out := map[string]any{}
			for key, value := range v {
				if !strings.HasPrefix(key, "x-kubernetes-permission-") {
					out[key] = drop(value)
				}
			}
			return out
		case []any:
			out := make([]any, len(v))
			for i := range v {
				out[i] = drop(v[i])
			}
			return out
		}
		return v
	}
	return drop(definition).(map[string]any)
}

// secretOf is the path of the schema of .spec.secret, for a JSON patch.
const secretOf = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/secret"

// weakening is a request that weakens what a definition excludes.
type weakening struct {
	name, method, contentType string
	// body returns the body for the live definition.
	body func(live map[string]any) any
}

func labeled(definition map[string]any, value string) map[string]any {
	harness.SetAt(definition, value, "metadata", "labels", "written")
	return definition
}

// appliedAs returns a definition as a tool has it in a file.
func appliedAs(live map[string]any) map[string]any {
	out := map[string]any{"apiVersion": live["apiVersion"], "kind": live["kind"], "spec": live["spec"],
		"metadata": map[string]any{"name": harness.ValueAt(live, "metadata", "name")}}
	return labeled(out, "yes")
}

var keptWeakenings = []weakening{
	{"a typed client updates", http.MethodPut, "json", func(live map[string]any) any { return labeled(withoutExtensions(live), "yes") }},
	{"a typed client applies with force", http.MethodPatch, "apply", func(live map[string]any) any { return withoutExtensions(appliedAs(live)) }},
	{"a chart replaces the versions", http.MethodPatch, "merge", func(live map[string]any) any {
		return map[string]any{"metadata": map[string]any{"labels": map[string]any{"written": "yes"}},
			"spec": map[string]any{"versions": harness.ValueAt(withoutExtensions(live), "spec", "versions")}}
	}},
	{"the exclusion is removed", http.MethodPatch, "jsonpatch", func(map[string]any) any {
		return []any{map[string]any{"op": "add", "path": "/metadata/labels", "value": map[string]any{"written": "yes"}},
			map[string]any{"op": "remove", "path": secretOf + "/x-kubernetes-permission-excluded"}}
	}},
	{"excluded is false", http.MethodPatch, "jsonpatch", func(map[string]any) any {
		return []any{map[string]any{"op": "add", "path": "/metadata/labels", "value": map[string]any{"written": "yes"}},
			map[string]any{"op": "replace", "path": secretOf + "/x-kubernetes-permission-excluded", "value": false}}
	}},
	{"another verb", http.MethodPatch, "jsonpatch", func(map[string]any) any {
		return []any{map[string]any{"op": "add", "path": "/metadata/labels", "value": map[string]any{"written": "yes"}},
			map[string]any{"op": "replace", "path": secretOf + "/x-kubernetes-permission-verb", "value": "vaults.example.com/mine"}}
	}},
}

var refusedWeakenings = []weakening{
	{"the field is removed", http.MethodPatch, "jsonpatch", func(map[string]any) any {
		return []any{map[string]any{"op": "remove", "path": secretOf}}
	}},
	{"the field gets another type", http.MethodPatch, "jsonpatch", func(map[string]any) any {
		return []any{map[string]any{"op": "replace", "path": secretOf + "/type", "value": "integer"}}
	}},
	{"the field gets a default", http.MethodPatch, "jsonpatch", func(map[string]any) any {
		return []any{map[string]any{"op": "add", "path": secretOf + "/default", "value": "open"}}
	}},
	{"the version goes", http.MethodPatch, "merge", func(live map[string]any) any {
		v := withoutExtensions(live)
		versions := harness.ValueAt(v, "spec", "versions").([]any)
		versions[0].(map[string]any)["name"] = "v2"
		harness.SetAt(versions[0].(map[string]any), map[string]any{"a": map[string]any{"type": "string"}}, "schema", "openAPIV3Schema", "properties", "spec", "properties")
		old := harness.ValueAt(live, "spec", "versions").([]any)[0].(map[string]any)
		old["storage"], old["served"] = false, false
		return map[string]any{"spec": map[string]any{"versions": append(versions, old)}}
	}},
	{"a conversion webhook comes", http.MethodPatch, "merge", func(map[string]any) any {
		return map[string]any{"spec": map[string]any{"conversion": map[string]any{"strategy": "Webhook", "webhook": map[string]any{
			"conversionReviewVersions": []any{"v1"}, "clientConfig": map[string]any{"url": "https://127.0.0.1:1/"}}}}}
	}},
}

// send makes a weakening request.
func (w weakening) send(t *testing.T, client *harness.Client, user, path, query string, live map[string]any) harness.Answer {
	t.Helper()
	if w.contentType == "apply" {
		query += "&force=true"
	}
	a, err := client.Do(t.Context(), harness.Call{As: harness.Impersonating(user), Method: w.method, Path: path + query,
		ContentType: harness.ContentTypes[w.contentType], Accept: "application/json", Body: w.body(live)})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func getObject(t *testing.T, path string) map[string]any {
	t.Helper()
	status, answer, err := harness.Request(on, "", http.MethodGet, path, "", "")
	out := map[string]any{}
	if err != nil || status != http.StatusOK || json.Unmarshal([]byte(answer), &out) != nil {
		t.Fatalf("%s: %d %s %v", path, status, answer, err)
	}
	return out
}

// editors grants two users the ordinary verbs on definitions and on the resources of
// vaults.example.com. Only the second one may weaken what a definition excludes.
func editors(t *testing.T) (without, with string) {
	t.Helper()
	n := harness.Unique()
	without, with = fmt.Sprintf("editor-%d", n), fmt.Sprintf("keeper-%d", n)
	definitions := rbacv1.PolicyRule{APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"}, Verbs: []string{"get", "update", "patch"}}
	vaults := rbacv1.PolicyRule{APIGroups: []string{"vaults.example.com"}, Resources: []string{"*"}, Verbs: []string{"get", "create", "update", "patch", "granular:specification", "granular:vaults.example.com/mine"}}
	admin := harness.Administrator(t, on)
	harness.Allow(t, admin, without, definitions, vaults)
	definitions.Verbs = append(definitions.Verbs, exclusion.Verb)
	harness.Allow(t, admin, with, definitions)
	return without, with
}

// TestExclusionsOfDefinitions checks that a caller that may update a definition can't weaken what
// the definition excludes without a verb of its own: the server keeps the stored extensions, or
// refuses the update.
//
// Attack: a caller with update on a definition writes it without the permission extensions, as typed clients, forced applies and charts do, or falsifies them with a JSON patch
// Answer: the stored extensions stay, with a warning; the excluded field stays closed
// Was: got through
// Held by: TestOpenings
//
// Attack: a caller with update on a definition removes the excluded field, its type or its version, gives it a default, or adds a conversion webhook
// Answer: 403, which names the field, without granular:permissionExclusion
// Was: got through
func TestExclusionsOfDefinitions(t *testing.T) {
	client := harness.Connect(t, on, "admin")
	without, with := editors(t)
	for i, w := range append(keptWeakenings, refusedWeakenings...) {
		refused := i >= len(keptWeakenings)
		t.Run(w.name, func(t *testing.T) {
			plural := fmt.Sprintf("boxes%d", harness.Unique())
			name := plural + ".vaults.example.com"
			text, err := json.Marshal(vault(plural))
			if err != nil {
				t.Fatal(err)
			}
			harness.Define(t, on, name, string(text))
			path := harness.Definitions + "/" + name
			before := getObject(t, path)

			dry := w.send(t, client, without, path, "?fieldManager=typed&dryRun=All", getObject(t, path))
			a := w.send(t, client, without, path, "?fieldManager=typed", getObject(t, path))
			if dry.Code != a.Code || !reflect.DeepEqual(dry.Warnings(), a.Warnings()) {
				t.Errorf("a dry run answers %d %q, and the request %d %q", dry.Code, dry.Warnings(), a.Code, a.Warnings())
			}
			after := getObject(t, path)
			if !reflect.DeepEqual(harness.ValueAt(before, "spec"), harness.ValueAt(after, "spec")) {
				t.Errorf("the definition was\n%v\nand is\n%v", before["spec"], after["spec"])
			}
			if refused {
				if a.Code != http.StatusForbidden || !strings.Contains(a.Message(), exclusion.Verb) || !strings.Contains(a.Message(), ".spec.") {
					t.Errorf("without the verb: %s", a)
				}
			} else {
				w.kept(t, client, without, path, a, after)
				closed(t, without, plural)
			}
			w.opens(t, client, with, path)
		})
	}
}

// kept checks the answer to a request of a caller without the verb, and the definition after it.
func (w weakening) kept(t *testing.T, client *harness.Client, user, path string, a harness.Answer, after map[string]any) {
	t.Helper()
	if a.Code != http.StatusOK || !strings.Contains(strings.Join(a.Warnings(), " "), exclusion.Verb) || !strings.Contains(strings.Join(a.Warnings(), " "), ".spec.secret") {
		t.Errorf("without the verb: %s, warned of %q", a, a.Warnings())
	}
	if harness.ValueAt(after, "metadata", "labels", "written") != "yes" {
		t.Errorf("the label was not written")
	}
	if owners := fmt.Sprint(harness.ValueAt(after, "metadata", "managedFields")); !strings.Contains(owners, "kube-granular-exclusions") {
		t.Errorf("the server owns nothing: %s", owners)
	}
	again := w.send(t, client, user, path, "?fieldManager=typed", getObject(t, path))
	if again.Code != http.StatusOK || harness.ValueAt(again.Object(t), "metadata", "resourceVersion") != harness.ValueAt(after, "metadata", "resourceVersion") {
		t.Errorf("the same request again stores something: %s", again)
	}
	if w.contentType != "apply" {
		return
	}
	status, answer, err := harness.Request(on, user, w.method, path+"?fieldManager=typed", harness.ContentTypes["apply"], mustJSON(t, w.body(getObject(t, path))))
	if err != nil || status != http.StatusOK {
		t.Errorf("the same apply without force: %d %s %v", status, answer, err)
	}
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// closed checks that a holder of update can't set the excluded field.
func closed(t *testing.T, user, plural string) {
	t.Helper()
	collection := "/apis/vaults.example.com/v1/" + plural
	harness.WaitServed(t, on, collection)
	kind := strings.ToUpper(plural[:1]) + plural[1:]
	create := func(field string) (int, string) {
		status, answer, err := harness.Request(on, user, http.MethodPost, collection, harness.ContentTypes["json"],
			fmt.Sprintf(`{"apiVersion":"vaults.example.com/v1","kind":%q,"metadata":{"generateName":"x-"},"spec":{%q:"x"}}`, kind, field))
		if err != nil {
			t.Fatal(err)
		}
		return status, answer
	}
	if status, answer := create("secret"); status != http.StatusForbidden {
		t.Errorf("the excluded field: %d %s", status, answer)
	}
	if status, answer := create("a"); status != http.StatusCreated {
		t.Errorf("another field: %d %s", status, answer)
	}
}

// opens checks that a caller with the verb may weaken the exclusion, and that this is told and
// counted.
func (w weakening) opens(t *testing.T, client *harness.Client, user, path string) {
	t.Helper()
	const counter = `exclusion_updates_total{result="opened"}`
	before := harness.Metrics(t, on)[counter]
	if dry := w.send(t, client, user, path, "?fieldManager=keeper&dryRun=All", getObject(t, path)); dry.Code != http.StatusOK {
		t.Errorf("a dry run with the verb: %s", dry)
	}
	a := w.send(t, client, user, path, "?fieldManager=keeper", getObject(t, path))
	if a.Code != http.StatusOK || !strings.Contains(strings.Join(a.Warnings(), " "), ".spec.") {
		t.Errorf("with the verb: %s, warned of %q", a, a.Warnings())
	}
	if after := harness.Metrics(t, on)[counter]; after != before+1 {
		t.Errorf("%v updates that open are counted, want 1", after-before)
	}
	query := "?fieldManager=keeper"
	if w.contentType == "apply" {
		query += "&force=true"
	}
	harness.Until(t, "there is an audit annotation of "+path, func() bool {
		return strings.HasPrefix(harness.Annotations(t, auditLog, path+query)[audit.OpenedAnnotation], ".spec.")
	})
}

// TestExclusionsAskNothing checks that the server asks for no further verb if an update weakens
// nothing, or the definition has no extension, or only the status is written.
func TestExclusionsAskNothing(t *testing.T) {
	s := onStage(t)
	for _, excludes := range []bool{true, false} {
		plural := fmt.Sprintf("quiet%d", harness.Unique())
		definition := vault(plural)
		if !excludes {
			definition = withoutExtensions(definition)
		}
		s.Install(t, []byte(mustJSON(t, definition)))
		path := harness.Definitions + "/" + plural + ".vaults.example.com"
		user := fmt.Sprintf("quiet-%d", harness.Unique())
		caller := s.Callers.AddCaller(user, "update", "patch")
		for _, request := range []struct{ path, contentType, body string }{
			{path, "jsonpatch", `[{"op":"add","path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/more","value":{"type":"string"}}]`},
			{path, "merge", `{"metadata":{"labels":{"a":"b"}}}`},
			{path + "/status", "merge", `{"spec":{"versions":[]},"status":{"storedVersions":["v1"]}}`},
		} {
			caller.Verbs()
			if a := s.Send(t, user, http.MethodPatch, request.path, harness.ContentTypes[request.contentType], request.body); a.Code != http.StatusOK || len(a.Warnings()) > 0 {
				t.Errorf("%s: %s, warned of %q", request.body, a, a.Warnings())
			}
			if verbs := caller.Verbs(); !reflect.DeepEqual(verbs, []string{"patch"}) {
				t.Errorf("%s: asked for %q", request.body, verbs)
			}
		}
	}
}
