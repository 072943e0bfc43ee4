// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cbor "k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
	"k8s.io/client-go/metadata"

	"kube-granular.dev/test/integration/harness"
)

// TestServed checks that discovery and both versions of OpenAPI show the group, that its
// APIService is available, and that /readyz has a check of the group.
func TestServed(t *testing.T) {
	_, theirs := clients(t, on)
	list, err := theirs.Discovery().ServerResourcesForGroupVersion("authority.kube-granular.dev/v1alpha1")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]metav1.APIResource{}
	for _, r := range list.APIResources {
		got[r.Name] = r
	}
	verbs := []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
	for name, short := range map[string]string{"protectedattributes": "pattr", "clusterprotectedattributes": "cpattr"} {
		r := got[name]
		if r.Namespaced != (name == "protectedattributes") || !slices.Equal(r.ShortNames, []string{short}) || !slices.Equal(r.Categories, []string{"authority"}) {
			t.Errorf("%s: %+v", name, r)
		}
		slices.Sort(r.Verbs)
		if !slices.Equal(r.Verbs, verbs) {
			t.Errorf("%s: verbs %v", name, r.Verbs)
		}
		if r.StorageVersionHash == "" {
			t.Errorf("%s has no hash of its storage version", name)
		}
		if _, ok := got[name+"/status"]; !ok {
			t.Errorf("%s has no status", name)
		}
	}
	if len(got) != 4 {
		t.Errorf("%d resources", len(got))
	}
	out := harness.MustKubectl(t, on, "", "get", "apiservice", "v1alpha1.authority.kube-granular.dev", "-o",
		"jsonpath={.spec.groupPriorityMinimum} {.status.conditions[?(@.type=='Available')].status}")
	if out != "15000 True" {
		t.Errorf("the APIService: %s", out)
	}
	status, _, body := do(t, on, http.MethodGet, "/readyz?verbose", "", "*/*", nil)
	if status != http.StatusOK || !strings.Contains(string(body), "[+]poststarthook/kube-granular/authority ok") {
		t.Errorf("/readyz: status %d: %s", status, body)
	}
	for _, path := range []string{"/openapi/v2", "/openapi/v3/apis/authority.kube-granular.dev/v1alpha1"} {
		status, _, body := do(t, on, http.MethodGet, path, "", "application/json", nil)
		text := string(body)
		if status != http.StatusOK || !strings.Contains(text, "dev.kube-granular.api.authority.v1alpha1.ProtectedAttributeSpec") || strings.Contains(text, "__internal") {
			t.Errorf("%s: status %d, of %d bytes; or it shows a version in memory", path, status, len(text))
		}
	}
}

// TestShortNames checks that no other resource has the short names of our resources.
func TestShortNames(t *testing.T) {
	_, theirs := clients(t, on)
	_, lists, err := theirs.Discovery().ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range lists {
		for _, r := range list.APIResources {
			if !strings.HasPrefix(list.GroupVersion, "authority.kube-granular.dev/") && (slices.Contains(r.ShortNames, "pattr") || slices.Contains(r.ShortNames, "cpattr")) {
				t.Errorf("%s of %s has a short name of ours", r.Name, list.GroupVersion)
			}
		}
	}
}

// TestFormats checks that the group accepts and returns JSON, YAML and CBOR, and that it
// refuses protobuf, unless the client accepts another format as well.
//
// Attack: attributes as protobuf
// Answer: 415 and 406; JSON, YAML and CBOR are served
func TestFormats(t *testing.T) {
	namespace(t, on, "formats")
	path := group + "/v1alpha1/namespaces/formats/protectedattributes"
	object := func(name string) map[string]any {
		return map[string]any{
			"apiVersion": "authority.kube-granular.dev/v1alpha1", "kind": "ProtectedAttribute",
			"metadata": map[string]any{"name": name},
			"spec":     map[string]any{"attributeKind": "Label", "attributeName": "example.com/tier"},
		}
	}
	binary, err := cbor.Marshal(object("cbor"))
	if err != nil {
		t.Fatal(err)
	}
	text := "{apiVersion: authority.kube-granular.dev/v1alpha1, kind: ProtectedAttribute, metadata: {name: yaml}, spec: {attributeKind: Label, attributeName: a}}"
	plain := `{"apiVersion":"authority.kube-granular.dev/v1alpha1","kind":"ProtectedAttribute","metadata":{"name":"json"},"spec":{"attributeKind":"Label","attributeName":"a"}}`
	const protobuf = "application/vnd.kubernetes.protobuf"
	tests := []struct {
		name, method, path, contentType, accept string
		body                                    []byte
		want                                    int
		answer                                  string
	}{
		{"json", "POST", path, "application/json", "application/json", []byte(plain), 201, "application/json"},
		{"yaml", "POST", path, "application/yaml", "application/yaml", []byte(text), 201, "application/yaml"},
		{"protobuf body", "POST", path, protobuf, "application/json", []byte("k8s\x00"), 415, ""},
		{"protobuf answer", "GET", path, "", protobuf, nil, 406, ""},
		{"protobuf answer of one", "GET", path + "/json", "", protobuf, nil, 406, ""},
		{"protobuf or anything", "GET", path, "", protobuf + ",*/*", nil, 200, "application/json"},
		{"protobuf or json", "GET", path + "/json", "", protobuf + ",application/json", nil, 200, "application/json"},
		{"metadata", "GET", path + "/json", "", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", nil,
			200, "application/json"},
		{"table", "GET", path, "", "application/json;as=Table;g=meta.k8s.io;v=v1", nil, 200, "application/json"},
	}
	if cborServed(t) {
		tests = append(tests, struct {
			name, method, path, contentType, accept string
			body                                    []byte
			want                                    int
			answer                                  string
		}{"cbor", "POST", path, "application/cbor", "application/cbor", binary, 201, "application/cbor"})
	}
	for _, tc := range tests {
		status, header, body := do(t, on, tc.method, tc.path, tc.contentType, tc.accept, tc.body)
		if status != tc.want || tc.answer != "" && !strings.HasPrefix(header.Get("Content-Type"), tc.answer) {
			t.Errorf("%s: status %d, %s: %.300s", tc.name, status, header.Get("Content-Type"), body)
		}
	}
}

// cborServed reports whether the server serves CBOR at all, which an upstream feature gate
// decides.
func cborServed(t *testing.T) bool {
	status, _, _ := do(t, on, http.MethodGet, "/api/v1/namespaces/formats/configmaps", "", "application/cbor", nil)
	t.Logf("CBOR is served: %t", status == http.StatusOK)
	return status == http.StatusOK
}

// TestControllersRead checks that metadata clients that prefer protobuf, as upstream's
// controllers have, can list, watch and delete attributes. Otherwise a deleted namespace would
// stay forever, and so would objects whose owner is gone.
func TestControllersRead(t *testing.T) {
	namespace(t, on, "controllers")
	ours, _ := clients(t, on)
	if _, err := ours.AuthorityV1alpha1().ProtectedAttributes("controllers").Create(t.Context(), attribute("a"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c := metadata.ConfigFor(config(t, on))
	if !strings.HasPrefix(c.AcceptContentTypes, "application/vnd.kubernetes.protobuf") {
		t.Fatalf("they accept %s", c.AcceptContentTypes)
	}
	client, err := metadata.NewForConfig(c)
	if err != nil {
		t.Fatal(err)
	}
	objects := client.Resource(gvr).Namespace("controllers")
	list, err := objects.List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 {
		t.Fatal(list, err)
	}
	w, err := objects.Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	if err := objects.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	if event := next(w); event.Type != "DELETED" {
		t.Errorf("the watch reports %v", event)
	}
	harness.Until(t, "nothing is left", func() bool {
		list, err := objects.List(t.Context(), metav1.ListOptions{})
		return err == nil && len(list.Items) == 0
	})
}

// TestCBOR checks that, with upstream's gate for CBOR on, attributes can be read, written,
// applied and listed in CBOR, that etcd still stores them as JSON, and that a field in the wrong
// case is refused, whatever the client asks for.
func TestCBOR(t *testing.T) {
	endpoint, client := storage(t)
	c, _ := start(t, "--etcd-servers", endpoint, "--feature-gates", gateOn+",CBORServingAndStorage=true")
	object := func(values ...string) []byte {
		t.Helper()
		out, err := cbor.Marshal(map[string]any{
			"apiVersion": "authority.kube-granular.dev/v1alpha1", "kind": "ClusterProtectedAttribute", "metadata": map[string]any{"name": "cbor"},
			"spec": map[string]any{"attributeKind": "Label", "attributeName": "example.com/tier",
				"allowedValues": values},
		})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	const path, as = group + "/v1alpha1/clusterprotectedattributes", "application/cbor"
	for _, r := range []struct {
		method, path, contentType string
		body                      []byte
		want                      int
	}{
		{http.MethodPost, path, as, object("gold"), http.StatusCreated},
		{http.MethodGet, path + "/cbor", "", nil, http.StatusOK},
		{http.MethodPatch, path + "/cbor?fieldManager=m&force=true", "application/apply-patch+cbor",
			object("gold", "silver"), http.StatusOK},
	} {
		status, header, body := do(t, c, r.method, r.path, r.contentType, as, r.body)
		if status != r.want || !strings.HasPrefix(header.Get("Content-Type"), as) {
			t.Fatalf("%s: %d, %s: %q", r.method, status, header.Get("Content-Type"), body)
		}
		got := map[string]any{}
		if err := cbor.Unmarshal(body, &got); err != nil || !strings.Contains(fmt.Sprint(got), "example.com/tier") {
			t.Errorf("%s: %v, error %v", r.method, got, err)
		}
	}
	wrong := bytes.Replace(object("gold", "bronze"), []byte("allowedValues"), []byte("AllowedValues"), 1)
	for _, validation := range []string{"", "&fieldValidation=Ignore", "&fieldValidation=Warn"} {
		for method, contentType := range map[string]string{http.MethodPost: as, http.MethodPut: as, http.MethodPatch: "application/apply-patch+cbor"} {
			target := path + "/cbor"
			if method == http.MethodPost {
				target = path
			}
			status, _, body := do(t, c, method, target+"?fieldManager=m"+validation, contentType, "application/json", wrong)
			if status < 400 || status == http.StatusConflict || !strings.Contains(string(body), "unknown field") && !strings.Contains(string(body), "AllowedValues") {
				t.Errorf("%s %s with a field in the wrong case: %d %s", method, validation, status, body)
			}
		}
	}
	if _, _, body := do(t, c, http.MethodGet, path+"/cbor", "", "application/json", nil); !strings.Contains(string(body), `"allowedValues":["gold","silver"]`) {
		t.Errorf("applied: %s", body)
	}
	if status, header, _ := do(t, c, http.MethodGet, path, "", as, nil); status != http.StatusOK || !strings.HasPrefix(header.Get("Content-Type"), as) {
		t.Errorf("a list: %d, %s", status, header.Get("Content-Type"))
	}
	stored, err := client.Get(t.Context(), "/registry/kube-granular/authority/clusterprotectedattributes/cbor")
	if err != nil || len(stored.Kvs) != 1 || !strings.HasPrefix(string(stored.Kvs[0].Value), "{") {
		t.Errorf("stored: %v, error %v", stored, err)
	}
}
