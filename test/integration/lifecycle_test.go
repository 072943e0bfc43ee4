// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"kube-granular.dev/granular/corpus"
	"kube-granular.dev/test/integration/harness"
)

// TestLastFinalizer checks an object that is being deleted. A caller with the permission for
// its last finalizer can remove the finalizer, and the object is gone. Without the permission,
// the removal is refused.
func TestLastFinalizer(t *testing.T) {
	s := onStage(t)
	harness.PrepareCorpus(t, s)
	kinds := map[string]string{
		"built-in kind":   `{apiVersion: v1, kind: ConfigMap, metadata: {name: doomed, finalizers: [a.example.com/hold]}, data: {a: "1"}}`,
		"custom resource": `{apiVersion: corpus.example.com/v1, kind: Gadget, metadata: {name: doomed, finalizers: [a.example.com/hold]}, spec: {size: 1}}`,
	}
	for kind, manifest := range kinds {
		for _, way := range []string{"json", "merge", "jsonpatch", "strategic"} {
			if way == "strategic" && kind == "custom resource" {
				continue // custom resources have no strategic patches
			}
			t.Run(kind+" "+way, func(t *testing.T) {
				path, _ := s.CreateObject(t, manifest)
				s.MustSend(t, http.MethodDelete, path, "", nil)
				live := s.MustSend(t, http.MethodGet, path, "", nil).Object(t)
				if harness.Metadata(t, live)["deletionTimestamp"] == nil {
					t.Fatal("it is not being deleted")
				}
				method, body := http.MethodPatch, any(`{"metadata":{"finalizers":null}}`)
				switch way {
				case "json":
					method, body = http.MethodPut, corpus.Overlay(live, corpus.Object{"metadata": map[string]any{"finalizers": nil}})
				case "jsonpatch":
					body = `[{"op":"remove","path":"/metadata/finalizers/0"}]`
				case "strategic":
					body = `{"metadata":{"$deleteFromPrimitiveList/finalizers":["a.example.com/hold"]}}`
				}
				// The message names a finalizer to a caller without get only if the request
				// itself contains the name.
				says := `cannot change .metadata.finalizers`
				if way == "strategic" {
					says += `["a.example.com/hold"]`
				}
				s.Twins(t, path, says, []string{"granular:finalizer(a.example.com)", "granular"}, func(user string) harness.Answer {
					return s.Send(t, user, method, path, harness.ContentTypes[way], body)
				})
				if a := s.Send(t, "", http.MethodGet, path, "", nil); a.Code != http.StatusNotFound {
					t.Errorf("it is still there: %s", a)
				}
			})
		}
	}
}

// TestDeletionAsksForDelete checks that a deletion needs the verb delete, whatever granular
// verbs the caller holds.
func TestDeletionAsksForDelete(t *testing.T) {
	s := onStage(t)
	path, _ := s.CreateObject(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: kept}}`)
	deleter := s.Callers.AddCaller("deleter", "granular", "granular:metadata", "granular:finalizers", "granular:data", "update", "patch", "create")
	if a := s.Send(t, "deleter", http.MethodDelete, path, "", nil); a.Code != http.StatusForbidden {
		t.Errorf("got %s", a)
	}
	if asked := deleter.Verbs(); fmt.Sprint(asked) != "[delete]" {
		t.Errorf("asked %q", asked)
	}
}

// TestErrorsComeInOrder checks that errors of upstream, such as conflicts, come before our
// refusal of fields. Controllers rely on them, for example to retry after a conflict.
func TestErrorsComeInOrder(t *testing.T) {
	s := onStage(t)
	path, live := s.CreateObject(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: ordered, labels: {a: "1"}}}`)
	stale := harness.Metadata(t, live)["resourceVersion"].(string)
	s.MustSend(t, http.MethodPatch, path, harness.ContentTypes["merge"], `{"metadata":{"labels":{"b":"1"}}}`)
	name := harness.Metadata(t, live)["name"].(string)
	put := func(meta string) string {
		return fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q,"labels":{"a":"2"}%s}}`, name, meta)
	}
	for _, tc := range []struct {
		name, method, path, contentType, body string
		code                                  int
	}{
		{"not found", http.MethodPatch, path + "-not", "merge", `{"metadata":{"labels":{"a":"2"}}}`,
			http.StatusNotFound},
		{"PUT of a stale object", http.MethodPut, path, "json", put(`,"resourceVersion":"` + stale + `"`),
			http.StatusConflict},
		{"patch of a stale object", http.MethodPatch, path, "merge",
			`{"metadata":{"resourceVersion":"` + stale + `","labels":{"a":"2"}}}`, http.StatusConflict},
		{"PUT of another object", http.MethodPut, path, "json",
			put(`,"uid":"00000000-0000-0000-0000-000000000000"`), http.StatusConflict},
		{"PUT of what is not valid", http.MethodPut, path, "json",
			strings.Replace(put(""), `"2"`, `"not a value"`, 1), http.StatusUnprocessableEntity},
		{"patch of what is not valid", http.MethodPatch, path, "merge",
			`{"metadata":{"labels":{"a":"not a value"}}}`, http.StatusUnprocessableEntity},
		{"PUT of another name", http.MethodPut, path, "json", strings.Replace(put(""), name, "other", 1),
			http.StatusBadRequest},
		{"a patch that fits nothing", http.MethodPatch, path, "jsonpatch", `[{"op":"remove","path":"/data/none"}]`,
			http.StatusUnprocessableEntity},
		{"a test of a patch that fails", http.MethodPatch, path, "jsonpatch",
			`[{"op":"test","path":"/metadata/labels/a","value":"5"}]`, http.StatusUnprocessableEntity},
		{"create of what is there", http.MethodPost, path[:strings.LastIndex(path, "/")], "json", put(""),
			http.StatusForbidden},
		{"nothing upstream objects to", http.MethodPut, path, "json", put(""), http.StatusForbidden},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s.Callers.AddCaller("orderly", "granular", "get")
			if a := s.Send(t, "orderly", tc.method, tc.path, harness.ContentTypes[tc.contentType], tc.body); a.Code != tc.code {
				t.Errorf("got %s, wanted %d", a, tc.code)
			}
		})
	}
	s.Callers.AddCaller("orderly", "granular", "granular:metadata", "get")
	if a := s.Send(t, "orderly", http.MethodPost, path[:strings.LastIndex(path, "/")], harness.ContentTypes["json"], put("")); a.Code != http.StatusConflict {
		t.Errorf("create of what is there, with the permission: got %s", a)
	}
}

// TestRetriesAreJudgedAnew checks an update that the storage tries again because somebody else
// wrote the object in between. The server must judge the second attempt by the object that it
// will overwrite: a value that was no change at first may be one now.
func TestRetriesAreJudgedAnew(t *testing.T) {
	s := onStage(t)
	stamps := harness.NewMutatingWebhook(t, s, "raced-")
	for _, tc := range []struct {
		name   string
		grants []string
		code   int
		asked  string
	}{
		// The first attempt is allowed, so the server asks for get to prepare the answer. The
		// refusal uses the same result: it names keys only to callers that may get the object.
		{"without the permission", []string{"granular"}, http.StatusForbidden, "[patch granular get granular:data]"},
		{"with the permission", []string{"granular", "granular:data", "get"}, http.StatusOK,
			"[patch granular get granular:data]"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path, _ := s.CreateObject(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: raced}, data: {a: "1"}}`)
			user := harness.UniqueName("raced-", tc.name)
			caller := s.Callers.AddCaller(user, tc.grants...)
			// In the first attempt, the caller changes nothing. While admission handles it, the
			// administrator changes the value that the caller sends.
			var attempts atomic.Int32
			stamps.SetPatchFunc(user, func(map[string]any) corpus.Object {
				if attempts.Add(1) == 1 {
					if a, err := s.RoundTrip("", http.MethodPatch, path, harness.ContentTypes["merge"], "application/json", `{"data":{"a":"2"}}`); err != nil || a.Code != http.StatusOK {
						t.Errorf("%v %s", err, a)
					}
				}
				// An attempt without any change would not be written, so the storage would not
				// notice the conflict.
				return corpus.Object{"metadata": map[string]any{"labels": map[string]any{"attempt": fmt.Sprint(attempts.Load())}}}
			})
			a := s.Send(t, user, http.MethodPatch, path, harness.ContentTypes["merge"], `{"data":{"a":"1"}}`)
			if a.Code != tc.code {
				t.Errorf("got %s, wanted %d", a, tc.code)
			}
			if got := attempts.Load(); got != 2 {
				t.Errorf("%d attempts", got)
			}
			if asked := fmt.Sprint(caller.Verbs()); asked != tc.asked {
				t.Errorf("asked %s, wanted %s", asked, tc.asked)
			}
			now := s.MustSend(t, http.MethodGet, path, "", nil).Object(t)
			if stored := now["data"].(map[string]any)["a"] == "1"; stored != (tc.code == http.StatusOK) {
				t.Errorf("stored: %v", now)
			}
		})
	}
}
