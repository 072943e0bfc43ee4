// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"kube-granular.dev/test/integration/harness"
)

// plain is a definition without any permission extensions.
const plain = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: pumps.plain.example.com}
spec:
  group: plain.example.com
  scope: Namespaced
  names: {plural: pumps, singular: pump, kind: Pump, listKind: PumpList}
  versions:
  - name: v1
    served: true
    storage: true
    subresources:
      status: {}
      scale: {specReplicasPath: .spec.pool.size, statusReplicasPath: .status.size}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              pool: {type: object, properties: {size: {type: integer}, name: {type: string}}}
          status:
            type: object
            properties:
              size: {type: integer}
              conditions:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [type]
                items:
                  type: object
                  required: [type]
                  properties:
                    type: {type: string}
                    status: {type: string}
          note: {type: string}
`

// TestConventions checks the permissions that fields of custom resources have by convention, as
// on built-in kinds: specification, replicas, status, conditions and condition. They cover no
// other field, and the author of the definition can turn them off.
//
// Attack: with `granular:replicas` on the scale of a custom resource whose definition says that its fields have no permissions
// Answer: 403
// Was: got through
// Held by: TestScaleOfCustomResource
func TestConventions(t *testing.T) {
	s := onStage(t)
	s.Install(t, []byte(plain))
	const collection = "/apis/plain.example.com/v1/namespaces/default/pumps"
	path := s.CreateIn(t, collection, `
apiVersion: plain.example.com/v1
kind: Pump
metadata: {name: p}
spec: {pool: {size: 1, name: a}}
note: as it was`)
	s.MustSend(t, http.MethodPatch, path+"/status", harness.ContentTypes["merge"], `{"status":{"size":1,"conditions":[{"type":"Ready","status":"False"},{"type":"Full","status":"False"}]}}`)
	patch := func(at, body string) func(user string) harness.Answer {
		return func(user string) harness.Answer {
			return s.Send(t, user, http.MethodPatch, at, harness.ContentTypes["merge"], body)
		}
	}
	type try struct {
		name, verb, says string
		do               func(user string) harness.Answer
	}
	tries := []try{
		{"specification", "granular:specification", "cannot change .spec.pool.name",
			patch(path, `{"spec":{"pool":{"name":"b"}}}`)},
		{"replicas", "granular:replicas", "cannot change .spec.pool.size", patch(path, `{"spec":{"pool":{"size":3}}}`)},
		{"replicas by its scale", "granular:replicas", "cannot change .spec.replicas",
			patch(path+"/scale", `{"spec":{"replicas":4}}`)},
		{"status", "granular:status", "cannot change .status.size", patch(path+"/status", `{"status":{"size":2}}`)},
		{"conditions", "granular:conditions", "cannot change .status.conditions",
			patch(path+"/status", `{"status":{"conditions":[{"type":"Ready","status":"False"},{"type":"Full","status":"True"}]}}`)},
		{"one condition", "granular:condition(Ready)", "cannot change .status.conditions[type=\"Ready\"]",
			patch(path+"/status", `{"status":{"conditions":[{"type":"Ready","status":"True"},{"type":"Full","status":"True"}]}}`)},
	}
	for _, tc := range tries {
		t.Run(tc.name, func(t *testing.T) {
			s.Twins(t, path, tc.says, []string{tc.verb, "granular", "get"}, tc.do)
		})
	}
	t.Run("nothing else", func(t *testing.T) {
		all := []string{"granular", "get", "granular:specification", "granular:status", "granular:replicas",
			"granular:metadata"}
		s.Callers.AddCaller("of-all-conventions", all...)
		if a := patch(path, `{"note":"written"}`)("of-all-conventions"); a.Code != http.StatusForbidden || !strings.Contains(a.Message(), "no permission covers this field") {
			t.Errorf("a field that no convention is about: %s", a)
		}
		s.Callers.AddCaller("of-one-condition", "granular", "get", "granular:condition(Ready)")
		if a := patch(path+"/status", `{"status":{"conditions":[{"type":"Ready","status":"True"},{"type":"Full","status":"False"}]}}`)("of-one-condition"); a.Code != http.StatusForbidden {
			t.Errorf("another condition: %s", a)
		}
	})
	t.Run("an ordinary caller", func(t *testing.T) {
		s.Callers.AddCaller("pump-editor", "get", "update", "patch")
		if a := patch(path, `{"note":"written","spec":{"pool":{"size":5}}}`)("pump-editor"); a.Code != http.StatusOK {
			t.Errorf("who may update: %s", a)
		}
	})
	t.Run("published", func(t *testing.T) {
		harness.Until(t, "the models are published", func() bool {
			a := s.Send(t, "", http.MethodGet, "/openapi/v3/apis/plain.example.com/v1", "", nil)
			return strings.Contains(string(a.Body), `"x-kubernetes-permission-verb":"specification"`) &&
				strings.Contains(string(a.Body), `"x-kubernetes-permission-verb":"replicas"`)
		})
		// Upstream's conformance tests compare OpenAPI v2 with the schema of the definition.
		harness.Until(t, "the model is published as OpenAPI v2", func() bool {
			a := s.Send(t, "", http.MethodGet, "/openapi/v2", "", nil)
			var v2 struct{ Definitions map[string]json.RawMessage }
			if err := json.Unmarshal(a.Body, &v2); err != nil {
				t.Fatalf("/openapi/v2: %v", err)
			}
			model, ok := v2.Definitions["com.example.plain.v1.Pump"]
			if strings.Contains(string(model), "x-kubernetes-permission") {
				t.Errorf("OpenAPI v2 is not as the author wrote the schema: %s", model)
			}
			return ok
		})
	})
	t.Run("none", func(t *testing.T) {
		s.MustSend(t, http.MethodPatch, harness.Definitions+"/pumps.plain.example.com", harness.ContentTypes["jsonpatch"],
			`[{"op":"add","path":"/spec/versions/0/schema/openAPIV3Schema/x-kubernetes-permission-verb","value":"none"}]`)
		s.Callers.AddCaller("once-allowed", "granular", "get", "granular:specification", "granular:replicas")
		n := 0
		harness.Until(t, "the definition is in force", func() bool {
			n++
			a := patch(path, `{"spec":{"pool":{"name":"c`+strings.Repeat("c", n)+`"}}}`)("once-allowed")
			return a.Code == http.StatusForbidden && strings.Contains(a.Message(), "no permission covers this field")
		})
		if a := patch(path, `{"spec":{"pool":{"size":7}}}`)("once-allowed"); a.Code != http.StatusForbidden {
			t.Errorf("replicas, whose author wants none: %s", a)
		}
		if a := patch(path+"/scale", `{"spec":{"replicas":8}}`)("once-allowed"); a.Code != http.StatusForbidden || !strings.Contains(a.Message(), "cannot change .spec.replicas") {
			t.Errorf("replicas by the scale, whose author wants none: %s", a)
		}
		if a := patch(path+"/scale", `{"spec":{"replicas":9}}`)("pump-editor"); a.Code != http.StatusOK {
			t.Errorf("who may update scales: %s", a)
		}
	})
}

// TestConventionsWithTheGateOff checks that, with the gate off, the published models of custom
// resources carry no permissions, as upstream.
func TestConventionsWithTheGateOff(t *testing.T) {
	s := harness.StartServer(t, "--feature-gates", "GranularAuthorization=false")
	s.Install(t, []byte(plain))
	harness.Until(t, "the models are published", func() bool {
		a := s.Send(t, "", http.MethodGet, "/openapi/v3/apis/plain.example.com/v1", "", nil)
		if _, model, found := strings.Cut(string(a.Body), `"com.example.plain.v1.Pump":`); found {
			model, _, _ = strings.Cut(model, `"x-kubernetes-group-version-kind"`)
			if strings.Contains(model, "x-kubernetes-permission-verb") {
				t.Errorf("with the gate off: %s", model)
			}
			return true
		}
		return false
	})
}
