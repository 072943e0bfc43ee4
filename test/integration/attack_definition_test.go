// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"kube-granular.dev/granular/corpus"
	"kube-granular.dev/test/integration/harness"
)

// dial describes a CustomResourceDefinition with integer fields and the versions v1 and v2.
type dial struct {
	// included and excluded are names of fields of the spec. The excluded ones need a
	// permission that `update` does not include.
	included, excluded []string
	// scaled is the field of the spec that the scale shows as replicas, or empty.
	scaled string
	// unserved is true if v2 is not served.
	unserved bool
}

// manifest returns the definition. Both versions have the same schema, and v1 is stored.
func (d dial) manifest(plural string) map[string]any {
	fields := map[string]any{}
	for _, name := range d.included {
		fields[name] = map[string]any{"type": "integer"}
	}
	for _, name := range d.excluded {
		fields[name] = map[string]any{"type": "integer",
			"x-kubernetes-permission-verb":     "definitions.example.com/trigger",
			"x-kubernetes-permission-excluded": true}
	}
	subresources := map[string]any{}
	if d.scaled != "" {
		subresources["scale"] = map[string]any{"specReplicasPath": ".spec." + d.scaled,
			"statusReplicasPath": ".status.n"}
	}
	var versions []any
	for _, name := range []string{"v1", "v2"} {
		versions = append(versions, map[string]any{
			"name": name, "served": name == "v1" || !d.unserved, "storage": name == "v1", "subresources": subresources,
			"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "properties": map[string]any{
				"spec": map[string]any{"type": "object", "x-kubernetes-permission-verb": "specification",
					"properties": fields},
				"status": map[string]any{"type": "object",
					"properties": map[string]any{"n": map[string]any{"type": "integer"}}},
			}}},
		})
	}
	kind := strings.ToUpper(plural[:1]) + plural[1:]
	return map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": plural + ".definitions.example.com"},
		"spec": map[string]any{
			"group": "definitions.example.com", "scope": "Namespaced", "versions": versions,
			"names": map[string]any{"plural": plural, "singular": plural, "kind": kind, "listKind": kind + "List"},
		},
	}
}

// TestAttackDefinition changes a definition while a request is under way: either the caller
// holds the body back, or a mutating webhook delays the request after the server observed the
// caller's change. The server must judge the request by the schema with which it decodes the
// request. A request that begins later is judged by the new schema.
//
// Attack: a definition that excludes, adds or moves a field, a version or the scale's path, while the caller
// delays the body or a webhook waits
// Answer: judged and stored by the definition that was current when the request began
func TestAttackDefinition(t *testing.T) {
	s := onStage(t)
	webhook := harness.NewMutatingWebhook(t, s, "holding-")
	const needs = `needs the verb "granular:definitions.example.com/trigger"`
	for i, tc := range []struct {
		name     string
		was, is  dial
		path     string
		body     string
		held     int
		after    int
		stored   map[string]any
		notThere string
	}{
		{name: "the field becomes excluded", was: dial{included: []string{"n", "trigger"}}, is: dial{included: []string{"n"}, excluded: []string{"trigger"}},
			body: `{"spec":{"trigger":2}}`, held: 200, after: 403, stored: map[string]any{"trigger": 2}},
		{name: "the field is no longer excluded", was: dial{included: []string{"n"}, excluded: []string{"trigger"}}, is: dial{included: []string{"n", "trigger"}},
			body: `{"spec":{"trigger":2}}`, held: 403, after: 200},
		{name: "the field comes, excluded", was: dial{included: []string{"n"}}, is: dial{included: []string{"n"}, excluded: []string{"trigger"}},
			body: `{"spec":{"n":3,"trigger":2}}`, held: 200, after: 403, stored: map[string]any{"n": 3}, notThere: "trigger"},
		{name: "the permission moves to another field", was: dial{included: []string{"n"}, excluded: []string{"trigger"}}, is: dial{included: []string{"n", "trigger"}, excluded: []string{"lever"}},
			body: `{"spec":{"trigger":2}}`, held: 403, after: 200},
		{name: "the permission moves to the field that is sent", was: dial{included: []string{"n"}, excluded: []string{"lever"}}, is: dial{included: []string{"n", "lever"}, excluded: []string{"trigger"}},
			body: `{"spec":{"n":3,"trigger":2}}`, held: 200, after: 403, stored: map[string]any{"n": 3}, notThere: "trigger"},
		{name: "the version is not served any more", was: dial{included: []string{"n"}, excluded: []string{"trigger"}}, is: dial{included: []string{"n"}, excluded: []string{"trigger"}, unserved: true},
			path: "v2", body: `{"spec":{"trigger":2}}`, held: 403, after: 404},
		{name: "the scale shows an excluded field", was: dial{included: []string{"n"}, excluded: []string{"trigger"}, scaled: "n"}, is: dial{included: []string{"n"}, excluded: []string{"trigger"}, scaled: "trigger"},
			path: "scale", body: `{"spec":{"replicas":4}}`, held: 200, after: 403, stored: map[string]any{"n": 4}, notThere: "trigger"},
		{name: "the scale shows an included field", was: dial{included: []string{"n"}, excluded: []string{"trigger"}, scaled: "trigger"}, is: dial{included: []string{"n"}, excluded: []string{"trigger"}, scaled: "n"},
			path: "scale", body: `{"spec":{"replicas":4}}`, held: 403, after: 200},
	} {
		for _, by := range []string{"body", "webhook"} {
			t.Run(tc.name+", held by the "+by, func(t *testing.T) {
				plural := fmt.Sprintf("dials%d%s", i, by)
				stored := makeDial(t, s, plural, tc.was)
				path := stored
				switch tc.path {
				case "v2":
					path = strings.Replace(path, "/v1/", "/v2/", 1)
				case "scale":
					path += "/scale"
				}
				user := "holding-" + plural
				later := "later-" + plural
				s.Callers.AddCaller(user, "patch", "get")
				s.Callers.AddCaller(later, "patch", "get")
				release := hold(t, s, webhook, by, user, path, tc.body)
				redefine(t, s, plural, tc.is)
				harness.Until(t, "the new definition is served", func() bool {
					return s.Send(t, later, http.MethodPatch, path+"?dryRun=All", harness.ContentTypes["merge"], tc.body).Code == tc.after
				})
				before := s.MustSend(t, http.MethodGet, stored, "", nil)
				got := release()
				if !strings.HasPrefix(got, fmt.Sprint(tc.held)) || tc.held == http.StatusForbidden && !strings.Contains(got, strings.ReplaceAll(needs, `"`, `\"`)) {
					t.Errorf("what was held: %s", got)
				}
				now := s.MustSend(t, http.MethodGet, stored, "", nil)
				if tc.held == http.StatusForbidden && string(before.Body) != string(now.Body) {
					t.Errorf("it was refused and stored %s", now)
				}
				for name, value := range tc.stored {
					if fmt.Sprint(harness.ValueAt(now.Object(t), "spec", name)) != fmt.Sprint(value) {
						t.Errorf("stored is %s", now)
					}
				}
				if tc.notThere != "" && harness.ValueAt(now.Object(t), "spec", tc.notThere) != nil {
					t.Errorf("%s is stored: %s", tc.notThere, now)
				}
				// The twin request: under the new definition, only the permission was missing.
				if tc.after == http.StatusForbidden {
					s.Twins(t, stored, needs, []string{"granular:definitions.example.com/trigger", "patch", "get"}, func(user string) harness.Answer {
						return s.Send(t, user, http.MethodPatch, path, harness.ContentTypes["merge"], strings.NewReplacer(":2", ":5", ":4", ":6").Replace(tc.body))
					})
				}
			})
		}
	}
}

// TestDefinitionLimits documents a limit that docs/threat-model.md describes. A request that
// began before a field was defined drops the field from the object. So a caller that delays its
// body until others have set the new field removes their value.
//
// Attack: a value that is set under a newer definition than the one the request began with
// Answer: 200, dropped; inherent
func TestDefinitionLimits(t *testing.T) {
	s := onStage(t)
	path := makeDial(t, s, "forgetting", dial{included: []string{"n"}})
	s.Callers.AddCaller("forgetter", "patch", "get")
	release := hold(t, s, nil, "body", "forgetter", path, `{"spec":{"n":3}}`)
	redefine(t, s, "forgetting", dial{included: []string{"n"}, excluded: []string{"trigger"}})
	harness.Until(t, "the new definition is served", func() bool {
		s.MustSend(t, http.MethodPatch, path, harness.ContentTypes["merge"], `{"spec":{"trigger":1}}`)
		return harness.ValueAt(s.MustSend(t, http.MethodGet, path, "", nil).Object(t), "spec", "trigger") != nil
	})
	got := release()
	if now := s.MustSend(t, http.MethodGet, path, "", nil); !strings.HasPrefix(got, "200") || harness.ValueAt(now.Object(t), "spec", "trigger") != nil {
		t.Errorf("%s, and stored is %s", got, now)
	}
}

// makeDial installs the definition and returns the path of an object of its kind.
func makeDial(t *testing.T, s *harness.Server, plural string, as dial) string {
	t.Helper()
	manifest, err := json.Marshal(as.manifest(plural))
	if err != nil {
		t.Fatal(err)
	}
	s.Install(t, manifest)
	return s.CreateIn(t, "/apis/definitions.example.com/v1/namespaces/default/"+plural,
		fmt.Sprintf(`{apiVersion: definitions.example.com/v1, kind: %s, metadata: {name: d}, spec: {"n": 1}}`, strings.ToUpper(plural[:1])+plural[1:]))
}

// redefine replaces the versions of the definition.
func redefine(t *testing.T, s *harness.Server, plural string, as dial) {
	t.Helper()
	s.MustSend(t, http.MethodPatch, harness.Definitions+"/"+plural+".definitions.example.com", harness.ContentTypes["merge"],
		map[string]any{"spec": map[string]any{"versions": as.manifest(plural)["spec"].(map[string]any)["versions"]}})
}

// hold sends a merge patch and holds it back until release is called. release returns the
// answer.
func hold(t *testing.T, s *harness.Server, webhook *harness.MutatingWebhook, by, user, path, body string) (release func() string) {
	t.Helper()
	if by == "body" {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		t.Cleanup(cancel)
		content, answered := harness.HoldBody(ctx, t, s.Cluster, user, path, harness.ContentTypes["merge"])
		return func() string {
			if _, err := io.WriteString(content, body); err != nil {
				t.Fatal(err)
			}
			if err := content.Close(); err != nil {
				t.Fatal(err)
			}
			return <-answered
		}
	}
	entered, left, answered := make(chan struct{}, 8), make(chan struct{}), make(chan string, 1)
	webhook.SetPatchFunc(user, func(map[string]any) corpus.Object {
		entered <- struct{}{}
		<-left
		return corpus.Object{}
	})
	go func() {
		a, err := s.RoundTrip(user, http.MethodPatch, path, harness.ContentTypes["merge"], "application/json", body)
		answered <- fmt.Sprint(a, err)
	}()
	select {
	case <-entered:
	case got := <-answered:
		t.Fatalf("answered before the webhook was asked: %s", got)
	}
	return func() string {
		close(left)
		return strings.TrimPrefix(<-answered, "&")
	}
}
