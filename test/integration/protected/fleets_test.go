// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package protected

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"sigs.k8s.io/yaml"

	"kube-granular.dev/test/integration/harness"
)

var defineFleets sync.Once

// withFleets installs the definition in testdata/fleets.yaml and waits until its kind is
// served.
func withFleets(t *testing.T) {
	t.Helper()
	defineFleets.Do(func() {
		text, err := os.ReadFile("testdata/fleets.yaml")
		if err != nil {
			t.Fatal(err)
		}
		body, err := yaml.YAMLToJSON(text)
		if err != nil {
			t.Fatal(err)
		}
		must(t, http.MethodPost, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "", string(body))
	})
	harness.Until(t, "fleets are served", func() bool {
		return send(t, harness.Admin, http.MethodGet, "/apis/example.com/v1/fleets", "", "").Code == http.StatusOK
	})
}

func fleet(name, content string) string {
	return `{"apiVersion":"example.com/v1","kind":"Fleet","metadata":{"name":"` + name + `"},` + content + `}`
}

// versionOf returns the resourceVersion of a stored object.
func versionOf(t *testing.T, path string) string {
	t.Helper()
	var object struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal([]byte(must(t, http.MethodGet, path, "", "")), &object); err != nil {
		t.Fatal(err)
	}
	return object.Metadata.ResourceVersion
}

// TestCustomResources checks which labels and annotations of custom resources are protected:
// those in the metadata, in every template that the definition marks, and in the status.
// Templates that are not marked are not checked.
//
// Attack: a protected label in a template of a custom resource, marked by its author, in a field, a list, a map, the status
// Answer: 403; 200 for a holder of the role
// Attack: a protected label through the `/status` of a custom resource
// Answer: 200, it is not stored
func TestCustomResources(t *testing.T) {
	withPeople(t)
	withFleets(t)
	const ns = "fleets"
	namespace(t, ns)
	fleets := where("example.com/fleets", ns)
	must(t, "POST", fleets, "", fleet("x", `"spec":{"size":1,"named":[{"name":"u","engine":"e"}],"listed":[{"name":"u"},{"name":"v"}]}`))
	protect(t, "fleets-env", envLabel)
	protect(t, "fleets-net", netAnno)
	for _, tc := range []struct {
		name string
		request
		says string
	}{
		{"its own", request{"PATCH", fleets + "/x", "merge", `{"metadata":{"labels":{"env":"prod"}}}`, nil},
			".metadata.labels[env]"},
		{"its own annotation",
			request{"PATCH", fleets + "/x", "merge", `{"metadata":{"annotations":{"example.com/net":"1"}}}`, nil},
			".metadata.annotations[example.com/net]"},
		{"created",
			request{"POST", fleets, "",
				fleet("made-USER", `"spec":{"template":{"metadata":{"labels":{"env":"prod"}}}}`), nil},
			".spec.template.metadata.labels[env]"},
		{"created by apply",
			request{"PATCH", fleets + "/applied-USER?fieldManager=m", "apply",
				fleet("applied-USER", `"spec":{"podLabels":{"env":"prod"}}`), nil},
			".spec.podLabels[env]"},
		{"a map without a template",
			request{"PATCH", fleets + "/x", "merge", `{"spec":{"podLabels":{"env":"prod"}}}`, nil},
			".spec.podLabels[env]"},
		{"a template",
			request{"PATCH", fleets + "/x", "merge", `{"spec":{"template":{"metadata":{"labels":{"env":"prod"}}}}}`,
				nil},
			".spec.template.metadata.labels[env]"},
		{"an annotation of a template",
			request{"PATCH", fleets + "/x", "jsonpatch",
				`[{"op":"add","path":"/spec/template/metadata/annotations","value":{"example.com/net":"1"}}]`, nil},
			".spec.template.metadata.annotations[example.com/net]"},
		{"an element of a map list",
			request{"PATCH", fleets + "/x?fieldManager=m&force=true", "apply",
				fleet("x", `"spec":{"named":[{"name":"u","metadata":{"labels":{"env":"prod"}}}]}`), nil},
			`.spec.named[name=\"u\"].metadata.labels[env]`},
		{"an element of a list",
			request{"PATCH", fleets + "/x", "jsonpatch",
				`[{"op":"add","path":"/spec/listed/1/metadata","value":{"labels":{"env":"prod"}}}]`, nil},
			"metadata.labels[env]"},
		{"an element of a map",
			request{"PATCH", fleets + "/x", "merge",
				`{"spec":{"mapped":{"k":{"metadata":{"labels":{"env":"prod"}}}}}}`, nil},
			"metadata.labels[env]"},
		{"the status",
			request{"PATCH", fleets + "/x/status", "merge",
				`{"status":{"template":{"metadata":{"labels":{"env":"prod"}}}}}`, nil},
			`.status.template.metadata.labels[env]`},
		{"the status by put", request{"PUT", fleets + "/x/status", "", "", func(o map[string]any) {
			harness.SetAt(o, "2", "status", "template", "metadata", "annotations", "example.com/net")
			harness.SetAt(o, versionOf(t, fleets+"/x"), "metadata", "resourceVersion")
		}}, `through \"fleets/status\"`},
		{"removed", request{"PATCH", fleets + "/x", "jsonpatch", `[{"op":"remove","path":"/spec/template"}]`, nil},
			".spec.template.metadata."},
		{"a value that is free",
			request{"PATCH", fleets + "/x", "merge", `{"spec":{"template":{"metadata":{"labels":{"env":"dev"}}}}}`,
				nil},
			""},
		{"another field beside it", request{"PATCH", fleets + "/x", "merge", `{"spec":{"size":3}}`, nil}, ""},
		{"a template that is not marked",
			request{"PATCH", fleets + "/x", "merge", `{"spec":{"unmarked":{"metadata":{"labels":{"env":"prod"}}}}}`,
				nil},
			""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.says == "" {
				granted(t, tc.send(t, "other", ns))
				return
			}
			refused(t, tc.send(t, "other", ns), tc.says)
			granted(t, tc.send(t, "holder", ns))
		})
	}
	// The server ignores metadata in a write to the status of a custom resource.
	must(t, "POST", fleets, "", fleet("plain", `"spec":{"size":1}`))
	for _, user := range []string{"other", "holder"} {
		got := send(t, user, "PATCH", fleets+"/plain/status", "merge", `{"metadata":{"labels":{"env":"prod"}},"status":{"phase":"x"}}`)
		granted(t, got)
		if strings.Contains(string(got.Body), `"env"`) {
			t.Errorf("%s: it is stored: %s", user, got.Body)
		}
	}
}
