// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"kube-granular.dev/test/integration/harness"
)

// valves is a definition with permissions whose parameters are values of fields.
const valves = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: valves.values.example.com}
spec:
  group: values.example.com
  scope: Namespaced
  names: {plural: valves, singular: valve, kind: Valve, listKind: ValveList}
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
              image:
                type: string
                x-kubernetes-permission-verb: values.example.com/image,values.example.com/imageFrom
                x-kubernetes-permission-parameterized-by: self
                x-kubernetes-permission-parameter-treatment: image-repository-prefix
              mode:
                type: string
                x-kubernetes-permission-verb: values.example.com/mode
                x-kubernetes-permission-excluded: true
                x-kubernetes-permission-parameterized-by: self
                x-kubernetes-permission-parameter-expression: self.lowerAscii()
              taints:
                type: array
                x-kubernetes-permission-verb: values.example.com/taints
                items:
                  type: object
                  x-kubernetes-permission-verb: values.example.com/taint
                  x-kubernetes-permission-parameterized-by: self.key
                  properties: {key: {type: string}, effect: {type: string}}
`

// These two objects are a policy that prefixes the images of labelled valves with a mirror, and
// its binding.
const (
	mirroring = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: mirror-of-valves}
spec:
  failurePolicy: Fail
  reinvocationPolicy: Never
  matchConstraints:
    resourceRules:
    - {apiGroups: [values.example.com], apiVersions: [v1], operations: [UPDATE], resources: [valves]}
    objectSelector: {matchLabels: {mirror: "yes"}}
  mutations:
  - patchType: JSONPatch
    jsonPatch:
      expression: '[JSONPatch{op: "replace", path: "/spec/image", value: "mirror.example/" + object.spec.image}]'
`
	mirroringBinding = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: mirror-of-valves}
spec: {policyName: mirror-of-valves}
`
)

// TestValues checks permissions whose parameter is the value of a field. The caller needs a
// verb for the old value and one for the new value, in every way in which the object can be
// written. With one verb less, the write is refused.
func TestValues(t *testing.T) {
	s := onStage(t)
	s.Install(t, []byte(valves))
	const collection = "/apis/values.example.com/v1/namespaces/default/valves"
	const mine, theirs = "granular:values.example.com/imageFrom(a.example/mine)", "granular:values.example.com/imageFrom(b.example/theirs)"
	const spec = `{image: "b.example/theirs:1", mode: Soft, taints: [{key: a}, {key: b}]}`
	made := 0
	valve := func(t *testing.T) string {
		made++
		return s.CreateIn(t, collection, fmt.Sprintf("apiVersion: values.example.com/v1\nkind: Valve\nmetadata: {name: v%d}\nspec: %s", made, spec))
	}
	// put returns a request that sends the whole object with some fields of its spec changed.
	put := func(t *testing.T, path string, set map[string]any) func(user string) harness.Answer {
		return func(user string) harness.Answer {
			object := s.LiveObject(t, path)
			for field, value := range set {
				object["spec"].(map[string]any)[field] = value
			}
			return s.Send(t, user, http.MethodPut, path, "application/json", object)
		}
	}
	patch := func(kind, path, body string) func(user string) harness.Answer {
		return func(user string) harness.Answer {
			return s.Send(t, user, http.MethodPatch, path, harness.ContentTypes[kind], body)
		}
	}
	for _, way := range []struct {
		name string
		do   func(path string) func(user string) harness.Answer
	}{
		{"put", func(path string) func(string) harness.Answer {
			return put(t, path, map[string]any{"image": "a.example/mine:2"})
		}},
		{"merge", func(path string) func(string) harness.Answer {
			return patch("merge", path, `{"spec":{"image":"a.example/mine:2"}}`)
		}},
		{"json", func(path string) func(string) harness.Answer {
			return patch("jsonpatch", path, `[{"op":"replace","path":"/spec/image","value":"a.example/mine:2"}]`)
		}},
		{"apply", func(path string) func(string) harness.Answer {
			name := path[strings.LastIndexByte(path, '/')+1:]
			return patch("apply", path+"?fieldManager=test&force=true", `{"apiVersion":"values.example.com/v1","kind":"Valve","metadata":{"name":"`+name+`"},"spec":{"image":"a.example/mine:2"}}`)
		}},
	} {
		t.Run(way.name, func(t *testing.T) {
			path := valve(t)
			s.Twins(t, path, `cannot change .spec.image in namespace "default": needs one of the verbs "granular:values.example.com/imageFrom(a.example/mine)"`, []string{mine, theirs, "granular", "get"}, way.do(path))
			path = valve(t)
			s.Twins(t, path, `cannot change .spec.image in namespace "default": needs one of the verbs "granular:values.example.com/imageFrom(b.example/theirs)"`, []string{theirs, mine, "granular", "get"}, way.do(path))
		})
	}
	t.Run("removed", func(t *testing.T) {
		path := valve(t)
		s.Twins(t, path, "imageFrom(b.example/theirs)", []string{theirs, "granular", "get"}, patch("merge", path, `{"spec":{"image":null}}`))
		s.Twins(t, path, "imageFrom(a.example/mine)", []string{mine, "granular", "get"}, patch("merge", path, `{"spec":{"image":"a.example/mine"}}`))
	})
	t.Run("a dry run", func(t *testing.T) {
		path := valve(t)
		s.Twins(t, path, "imageFrom(a.example/mine)", []string{mine, theirs, "granular", "get"}, patch("merge", path+"?dryRun=All", `{"spec":{"image":"a.example/mine"}}`))
	})
	t.Run("elements of a list", func(t *testing.T) {
		path := valve(t)
		taint := func(key string) string { return "granular:values.example.com/taint(" + key + ")" }
		s.Twins(t, path, `needs one of the verbs "granular:values.example.com/taint(c)"`, []string{taint("c"), "granular", "get"},
			patch("merge", path, `{"spec":{"taints":[{"key":"a"},{"key":"c"},{"key":"b"}]}}`))
		s.Twins(t, path, `needs one of the verbs "granular:values.example.com/taint(a)"`, []string{taint("a"), "granular", "get"},
			patch("jsonpatch", path, `[{"op":"remove","path":"/spec/taints/0"}]`))
		s.Twins(t, path, `needs one of the verbs "granular:values.example.com/taints"`, []string{"granular:values.example.com/taints", taint("b"), taint("c"), "granular", "get"},
			patch("merge", path, `{"spec":{"taints":[{"key":"b"},{"key":"c"}]}}`))
	})
	t.Run("excluded", func(t *testing.T) {
		path := valve(t)
		soft, hard := "granular:values.example.com/mode(soft)", "granular:values.example.com/mode(hard)"
		for _, ordinary := range [][]string{{"update", "patch", "get"}, {"granular", "granular:specification", "get"}} {
			s.Twins(t, path, `needs the verb "granular:values.example.com/mode(soft)"`, append([]string{soft, hard}, ordinary...), patch("merge", path, `{"spec":{"mode":"HARD"}}`))
			s.MustSend(t, http.MethodPatch, path, harness.ContentTypes["merge"], `{"spec":{"mode":"Soft"}}`)
			s.Twins(t, path, `needs the verb "granular:values.example.com/mode(hard)"`, append([]string{hard, soft}, ordinary...), patch("merge", path, `{"spec":{"mode":"HARD"}}`))
			s.MustSend(t, http.MethodPatch, path, harness.ContentTypes["merge"], `{"spec":{"mode":"Soft"}}`)
		}
	})
	t.Run("hidden from who may not get", func(t *testing.T) {
		path := valve(t)
		s.Callers.AddCaller("blind", "granular", mine)
		for _, body := range []string{`{"spec":{"image":"a.example/mine"}}`, `{"spec":{"image":"a.example/other"}}`, `{"spec":{"image":null}}`} {
			a := patch("merge", path, body)("blind")
			if a.Code != http.StatusForbidden || strings.Contains(string(a.Body), "theirs") || strings.Contains(string(a.Body), "b.example") {
				t.Errorf("%s: got %s", body, a)
			}
			if want := `needs one of the verbs "granular:values.example.com/image", "granular:specification"`; !strings.Contains(a.Message(), want) {
				t.Errorf("%s: got %s, want %s", body, a, want)
			}
		}
		a := patch("merge", path, `{"spec":{"mode":"hard"}}`)("blind")
		if a.Code != http.StatusForbidden || strings.Contains(strings.ToLower(string(a.Body)), "soft") {
			t.Errorf("got %s", a)
		}
	})
	t.Run("a policy that rewrites", func(t *testing.T) {
		path := valve(t)
		for plural, text := range map[string]string{"mutatingadmissionpolicies": mirroring, "mutatingadmissionpolicybindings": mirroringBinding} {
			at := "/apis/admissionregistration.k8s.io/v1/" + plural
			s.MustSend(t, http.MethodPost, at, "application/yaml", text)
			t.Cleanup(func() { s.Send(t, "", http.MethodDelete, at+"/mirror-of-valves", "", nil) })
		}
		do := patch("merge", path, `{"metadata":{"labels":{"mirror":"yes"}},"spec":{"image":"b.example/theirs:2"}}`)
		const mirror = "granular:values.example.com/imageFrom(mirror.example)"
		harness.Until(t, "the policy is in force", func() bool {
			a := s.Send(t, "", http.MethodPatch, path+"?dryRun=All", harness.ContentTypes["merge"],
				`{"metadata":{"labels":{"mirror":"yes"}}}`) // 503 until the policy knows the definition
			return a.Code == http.StatusOK && strings.Contains(string(a.Body), "mirror.example")
		})
		s.Twins(t, path, "imageFrom(mirror.example/b.example/theirs)", []string{mirror, theirs, "granular:label(mirror)", "granular", "get"}, do)
	})
	t.Run("malformed", func(t *testing.T) {
		for name, change := range map[string][2]string{
			"a field that is not there": {"self.key", "self.kee"},
			"two names of a key": {"x-kubernetes-permission-verb: specification",
				`x-kubernetes-permission-verb: "specification,more"`},
			"an unknown treatment": {"image-repository-prefix", "image-prefix"},
		} {
			text := strings.NewReplacer("valves", "valvas", "Valve", "Valva", "singular: valve", "singular: valva", change[0], change[1]).Replace(valves)
			a := s.Send(t, "", http.MethodPost, harness.Definitions+"?dryRun=All", "application/yaml", text)
			if a.Code != http.StatusUnprocessableEntity || !strings.Contains(a.Message(), "x-kubernetes-permission-") {
				t.Errorf("%s: got %s", name, a)
			}
		}
	})
}
