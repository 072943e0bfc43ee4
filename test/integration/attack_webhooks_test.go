// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"kube-granular.dev/granular/corpus"
	"kube-granular.dev/test/integration/harness"
)

// gates is the definition of a custom kind with excluded fields: a field, its former name, the
// keys of a map, and a field in the elements of a keyed list.
const gates = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gates.webhooks.example.com}
spec:
  group: webhooks.example.com
  scope: Namespaced
  names: {plural: gates, singular: gate, kind: Gate, listKind: GateList}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            x-kubernetes-permission-verb: specification
            properties:
              note: {type: string}
              trigger: {type: string, x-kubernetes-permission-verb: webhooks.example.com/trigger, x-kubernetes-permission-excluded: true}
              formerTrigger: {type: string, x-kubernetes-permission-verb: webhooks.example.com/trigger, x-kubernetes-permission-excluded: true}
              words:
                type: object
                x-kubernetes-permission-parameter-source: word
                additionalProperties: {type: string, x-kubernetes-permission-verb: webhooks.example.com/word, x-kubernetes-permission-parameterized-by: word, x-kubernetes-permission-excluded: true}
              doors:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                x-kubernetes-permission-parameter-source: door
                items:
                  type: object
                  required: [name]
                  properties:
                    name: {type: string}
                    lock: {type: string, x-kubernetes-permission-verb: webhooks.example.com/lock, x-kubernetes-permission-parameterized-by: door, x-kubernetes-permission-excluded: true}
`

// TestAttackWebhooks sends changes that a mutating webhook copies, moves, renames or undoes.
// The caller needs a permission for the part of its change that remains, even if the webhook
// gave it another key or moved it to another field of the same permission. Changes that the
// webhook itself adds need no permission of the caller.
//
// Attack: a key of a map, a list, a label or a finalizer, which a mutating webhook writes in another way
// Answer: 403, the key that was sent
// Was: got through
//
// Attack: the former name of an excluded field, which a mutating webhook moves to the new one
// Answer: 403
// Was: got through
//
// Attack: fields that a mutating webhook copies from an annotation, or changes further; owners, finalizers and
// managed fields that it adds
// Answer: the server asks only about the caller's part
func TestAttackWebhooks(t *testing.T) {
	s := onStage(t)
	s.Install(t, []byte(gates))
	webhook := harness.NewMutatingWebhook(t, s, "moving-")
	spec := func(fields map[string]any) func(map[string]any) corpus.Object {
		return func(map[string]any) corpus.Object { return corpus.Object{"spec": fields} }
	}
	meta := func(fields map[string]any) func(map[string]any) corpus.Object {
		return func(map[string]any) corpus.Object { return corpus.Object{"metadata": fields} }
	}
	// moved returns a webhook that moves a value from one path to another.
	moved := func(from, to []string) func(map[string]any) corpus.Object {
		return func(object map[string]any) corpus.Object {
			over := corpus.Object{}
			if value := harness.ValueAt(object, from...); value != nil {
				harness.SetAt(over, map[string]any{from[len(from)-1]: nil}, from[:len(from)-1]...)
				harness.SetAt(over, value, to...)
			}
			return over
		}
	}
	const object = `{apiVersion: webhooks.example.com/v1, kind: Gate, metadata: {name: g, labels: {kept: a}}, spec: {note: a, trigger: a, formerTrigger: a, words: {kept: a}, doors: [{name: kept, lock: a}]}}`
	const trigger, ordinary = "granular:webhooks.example.com/trigger", "patch"
	for i, tc := range []struct {
		name string
		over func(map[string]any) corpus.Object
		body string
		// Without the first of the grants, the request is refused with the message says. If
		// says is empty, the request is allowed.
		grants []string
		says   string
		// stored is the value at the path place after the request.
		stored string
		place  []string
	}{
		{"copies an annotation into an excluded field", func(object map[string]any) corpus.Object {
			return corpus.Object{"spec": map[string]any{"trigger": harness.ValueAt(object, "metadata", "annotations", "own.example.com/trigger")}}
		}, `{"metadata":{"annotations":{"own.example.com/trigger":"b"}}}`,
			[]string{"granular:annotation(own.example.com)", "granular", "get"}, "cannot change .metadata.annotations[own.example.com/trigger]", "b", []string{"spec", "trigger"}},
		{"moves what the caller may change to where it may not", moved([]string{"spec", "note"}, []string{"spec", "trigger"}), `{"spec":{"note":"b"}}`,
			[]string{"granular:specification", "granular", "get"}, "cannot change .spec.note", "b", []string{"spec", "trigger"}},
		{"moves what the caller may not change to where it may", moved([]string{"spec", "trigger"}, []string{"spec", "note"}), `{"spec":{"trigger":"b"}}`,
			[]string{trigger, ordinary, "get"}, "cannot change .spec.trigger", "b", []string{"spec", "note"}},
		{"moves it to another field of the permission", moved([]string{"spec", "formerTrigger"}, []string{"spec", "trigger"}), `{"spec":{"formerTrigger":"b"}}`,
			[]string{trigger, ordinary, "get"}, "cannot change .spec.formerTrigger", "b", []string{"spec", "trigger"}},
		{"copies it to another field of the permission and takes it back", func(object map[string]any) corpus.Object {
			return corpus.Object{"spec": map[string]any{"formerTrigger": "a", "trigger": harness.ValueAt(object, "spec", "formerTrigger")}}
		}, `{"spec":{"formerTrigger":"b"}}`, []string{trigger, ordinary, "get"}, "cannot change .spec.formerTrigger", "b", []string{"spec", "trigger"}},
		{"changes it further", spec(map[string]any{"trigger": "c"}), `{"spec":{"trigger":"b"}}`,
			[]string{trigger, ordinary, "get"}, "cannot change .spec.trigger", "c", []string{"spec", "trigger"}},
		{"takes it back", spec(map[string]any{"trigger": "a"}), `{"spec":{"note":"b","trigger":"b"}}`,
			[]string{ordinary, "get"}, "", "b", []string{"spec", "note"}},
		{"takes it back and writes something else", spec(map[string]any{"trigger": "a", "words": map[string]any{"other": "c"}}), `{"spec":{"note":"b","trigger":"b"}}`,
			[]string{ordinary, "get"}, "", "b", []string{"spec", "note"}},
		{"gives a new key of a map another name", moved([]string{"spec", "words", "NEW"}, []string{"spec", "words", "new"}), `{"spec":{"words":{"NEW":"b"}}}`,
			[]string{"granular:webhooks.example.com/word(NEW)", ordinary, "get"}, "cannot change .spec.words[NEW]", "b", []string{"spec", "words", "new"}},
		{"gives a new key the name of an old one", moved([]string{"spec", "words", "KEPT"}, []string{"spec", "words", "kept"}), `{"spec":{"words":{"KEPT":"b"}}}`,
			[]string{"granular:webhooks.example.com/word(KEPT)", ordinary, "get"}, "cannot change .spec.words[KEPT]", "b", []string{"spec", "words", "kept"}},
		{"gives a label another key", moved([]string{"metadata", "labels", "NEW"}, []string{"metadata", "labels", "new"}), `{"metadata":{"labels":{"NEW":"b"}}}`,
			[]string{"granular:label(NEW)", "granular", "granular:label(own.example.com)", "get"}, "cannot change .metadata.labels[NEW]", "b", []string{"metadata", "labels", "new"}},
		{"adds owners and finalizers", meta(map[string]any{"finalizers": []any{"webhook.example.com/f"}, "ownerReferences": []any{map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": "none", "uid": "1"}}}), `{"metadata":{"labels":{"own.example.com/l":"b"}}}`,
			[]string{"granular:label(own.example.com)", "granular", "get"}, "cannot change .metadata.labels[own.example.com/l]", "b", []string{"metadata", "labels", "own.example.com/l"}},
		{"adds a finalizer beside that of the caller", func(object map[string]any) corpus.Object {
			return corpus.Object{"metadata": map[string]any{"finalizers": []any{"other.example.com/f", "webhook.example.com/f"}}}
		}, `{"metadata":{"labels":{"own.example.com/l":"b"},"finalizers":["other.example.com/f"]}}`,
			[]string{"granular:finalizer(other.example.com)", "granular:label(own.example.com)", "granular", "get"}, "cannot change .metadata.finalizers[\"other.example.com/f\"]", "b", []string{"metadata", "labels", "own.example.com/l"}},
		{"gives a finalizer another name", meta(map[string]any{"finalizers": []any{"webhook.example.com/f"}}), `{"metadata":{"labels":{"own.example.com/l":"b"},"finalizers":["other.example.com/f"]}}`,
			[]string{"granular:finalizer(other.example.com)", "granular:label(own.example.com)", "granular", "get"}, "cannot change .metadata.finalizers[\"other.example.com/f\"]", "b", []string{"metadata", "labels", "own.example.com/l"}},
		{"writes managed fields", meta(map[string]any{"managedFields": []any{map[string]any{"manager": "webhook", "operation": "Update", "apiVersion": "webhooks.example.com/v1", "fieldsType": "FieldsV1", "fieldsV1": map[string]any{"f:spec": map[string]any{}}}}}), `{"metadata":{"labels":{"own.example.com/l":"b"}}}`,
			[]string{"granular:label(own.example.com)", "granular", "get"}, "cannot change .metadata.labels[own.example.com/l]", "b", []string{"metadata", "labels", "own.example.com/l"}},
		{"gives an element another key", func(object map[string]any) corpus.Object {
			return corpus.Object{"spec": map[string]any{"doors": []any{map[string]any{"name": "kept", "lock": "a"}, map[string]any{"name": "new", "lock": "b"}}, "note": "b"}}
		}, `{"spec":{"doors":[{"name":"kept","lock":"a"},{"name":"NEW","lock":"b"}]}}`,
			[]string{"granular:webhooks.example.com/lock(NEW)", ordinary, "get"}, `cannot change .spec.doors[name="NEW"].lock`, "b", []string{"spec", "note"}},
		{"gives an element the key of another", func(object map[string]any) corpus.Object {
			return corpus.Object{"spec": map[string]any{"doors": []any{map[string]any{"name": "kept", "lock": "b"}}, "note": "b"}}
		}, `{"spec":{"doors":[{"name":"kept","lock":"a"},{"name":"KEPT","lock":"b"}]}}`,
			[]string{"granular:webhooks.example.com/lock(KEPT)", ordinary, "get"}, `cannot change .spec.doors[name="KEPT"].lock`, "b", []string{"spec", "note"}},
		{"gives an element that is there another key", func(object map[string]any) corpus.Object {
			return corpus.Object{"spec": map[string]any{"doors": []any{map[string]any{"name": "other", "lock": "b"}}, "note": "b"}}
		}, `{"spec":{"doors":[{"name":"kept","lock":"b"}]}}`,
			[]string{"granular:webhooks.example.com/lock(kept)", ordinary, "get"}, `cannot change .spec.doors[name="kept"].lock`, "b", []string{"spec", "note"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := 0
			for _, way := range []string{"merge", "json", "apply"} {
				t.Run(way, func(t *testing.T) {
					path := s.CreateIn(t, "/apis/webhooks.example.com/v1/namespaces/default/gates", object)
					do := func(stand string) harness.Answer {
						n++
						user := fmt.Sprintf("moving-%d-%d-%s", i, n, stand)
						may := s.Callers.Allows(stand)
						s.Callers.AddCallerFunc(user, func(q harness.Question) bool {
							return may(q) || q.Verb == "update" && may(harness.Question{Verb: "patch"})
						})
						webhook.SetPatchFunc(user, tc.over)
						now := s.MustSend(t, http.MethodGet, path, "", nil).Object(t)
						switch way {
						case "json":
							return s.Send(t, user, http.MethodPut, path, harness.ContentTypes["json"], corpus.Overlay(now, harness.FromYAML(t, tc.body)))
						case "apply":
							identity := corpus.Object{"apiVersion": now["apiVersion"], "kind": now["kind"],
								"metadata": map[string]any{"name": harness.Metadata(t, now)["name"]}}
							return s.Send(t, user, http.MethodPatch, path+"?force=true&fieldManager=a", harness.ContentTypes["apply"], corpus.Overlay(identity, harness.FromYAML(t, tc.body)))
						}
						return s.Send(t, user, http.MethodPatch, path, harness.ContentTypes["merge"], tc.body)
					}
					if tc.says == "" {
						s.Callers.AddCaller("alone", tc.grants...)
						if a := do("alone"); a.Code != http.StatusOK {
							t.Errorf("got %s", a)
						}
					} else {
						s.Twins(t, path, tc.says, tc.grants, do)
					}
					if now := s.MustSend(t, http.MethodGet, path, "", nil).Object(t); harness.ValueAt(now, tc.place...) != tc.stored {
						t.Errorf("stored is %v", now)
					}
					s.MustSend(t, http.MethodPatch, path, harness.ContentTypes["merge"], `{"metadata":{"finalizers":null}}`)
				})
			}
		})
	}
}

// TestAttackWebhooksOtherField is like TestAttackWebhooks, but the webhook moves the value into
// a top-level field of the object that nobody else changes.
//
// Attack: a key that a mutating webhook moves to another field of the same permission, which nobody else changed
// Answer: 403, the field that was sent
func TestAttackWebhooksOtherField(t *testing.T) {
	s := onStage(t)
	webhook := harness.NewMutatingWebhook(t, s, "binary-")
	path, _ := s.CreateObject(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: a}}`)
	for user, grants := range map[string][]string{
		"binary-refused": {"granular", "get"},
		"binary-allowed": {"granular:data", "granular", "get"},
	} {
		s.Callers.AddCaller(user, grants...)
		webhook.SetPatch(user, corpus.Object{"data": map[string]any{"b": nil}, "binaryData": map[string]any{"b": "Yg=="}})
	}
	const body = `{"data":{"b":"b"}}`
	a := s.Send(t, "binary-refused", http.MethodPatch, path, harness.ContentTypes["merge"], body)
	if now := s.MustSend(t, http.MethodGet, path, "", nil).Object(t); a.Code != http.StatusForbidden || !strings.Contains(a.Message(), "cannot change .data") || now["binaryData"] != nil {
		t.Errorf("got %s, stored is %v", a, now)
	}
	a = s.Send(t, "binary-allowed", http.MethodPatch, path, harness.ContentTypes["merge"], body)
	if now := s.MustSend(t, http.MethodGet, path, "", nil).Object(t); a.Code != http.StatusOK || now["binaryData"] == nil {
		t.Errorf("got %s, stored is %v", a, now)
	}
}
