// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package paths

import (
	"encoding/json"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/test/integration/etcd"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/test/integration/harness"
)

const (
	namespace = "paths"
	// bare is a user that holds only the verb granular. full also holds every general
	// permission. Neither holds an ordinary write verb.
	bare = "paths-bare"
	full = "paths-full"
)

var (
	// verified matches a refusal because of one field, and refused a refusal of the whole
	// operation.
	verified = regexp.MustCompile(`^403 .*User \\"paths-bare\\" cannot change [.][^:]*: (needs |no permission covers)`)
	refused  = regexp.MustCompile(`^403 .*the verb \\?"granular\\?" does not cover this operation`)
)

// TestEveryPath sends requests of two granular users to every path of the API that writes. Each
// path must verify fields or refuse both users.
func TestEveryPath(t *testing.T) {
	c := harness.Start(t, "--feature-gates", "AllAlpha=true,AllBeta=true", "--", "--runtime-config=api/all=true")
	s := &server{Client: harness.Connect(t, c, "admin")}
	// These are verbs that some kinds require of their writers besides the ordinary verb.
	besides := []string{"get", "delegate", "escalate", "bind", "sign", "attest", "approve"}
	s.grant(t, bare, append(besides, "granular")...)
	s.grant(t, full, append(besides, "granular", "granular:metadata", "granular:specification", "granular:status")...)
	s.apply(t, "/api/v1/namespaces/"+namespace, map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": namespace}})
	s.apply(t, "/api/v1/namespaces/"+namespace+"/serviceaccounts/default", map[string]any{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": map[string]any{"name": "default"}})
	s.extend(t)

	all := s.discovered(t)
	names := make([]string, len(all))
	for i, p := range all {
		names[i] = p.String()
	}
	if diff := cmp.Diff(names, s.published(t)); diff != "" {
		t.Errorf("discovery (-) and OpenAPI (+) don't have the same paths:\n%s", diff)
	}
	// Neither discovery nor OpenAPI lists what is behind an APIService without a running
	// server.
	for _, verb := range slices.Sorted(maps.Keys(methods)) {
		all = append(all, path{GroupVersionResource: elsewhere.WithResource("things"), verb: verb, kind: elsewhere.WithKind("Thing"), namespaced: true})
	}

	data := etcd.GetEtcdStorageDataForNamespace(namespace)
	data[widgets] = etcd.StorageData{
		Stub:              `{"metadata":{"name":"w"},"spec":{"replicas":1}}`,
		StatusStub:        `{"status":{"replicas":1}}`,
		MutatedStatusStub: `{"status":{"replicas":2}}`,
	}
	data[widgetsBeta] = data[widgets]
	// The mode is Audit, because enforced attributes would refuse some of the writes.
	attribute := etcd.StorageData{
		Stub:       `{"metadata":{"name":"a"},"spec":{"attributeKind":"Label","attributeName":"paths.example.com/guarded","mode":"Audit"}}`,
		StatusStub: `{"status":{"conditions":[{"type":"Walked","status":"True","reason":"r","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`,
	}
	for _, resource := range []string{"protectedattributes", "clusterprotectedattributes"} {
		data[v1alpha1.SchemeGroupVersion.WithResource(resource)] = attribute
	}
	data[v1alpha1.SchemeGroupVersion.WithResource("fieldpermissions")] = etcd.StorageData{
		// The entry is for a resource that no path of this test writes.
		Stub:       `{"metadata":{"name":"things.example.com"},"spec":{"version":"v1","fields":[{"path":".spec.a","permission":"example.com/a"}]}}`,
		StatusStub: attribute.StatusStub,
	}
	data[v1alpha1.SchemeGroupVersion.WithResource("authoritydelegations")] = etcd.StorageData{
		Stub: `{"metadata":{"name":"d"},"spec":{"delegates":[{"kind":"User","name":"paths"}],"scope":{"cluster":true},"rules":[{"apiGroups":[""],"resources":["configmaps"],"verbs":["get"]}]}}`,
	}
	data[v1alpha1.SchemeGroupVersion.WithResource("authoritydelegationpolicies")] = etcd.StorageData{
		// The policy is for a resource that no path of this test writes.
		Stub: `{"metadata":{"name":"p"},"spec":{"resource":{"group":"example.com","resource":"things"},"delegates":[{"kind":"User","name":"bot"}],"rules":[{"apiGroups":[""],"resources":["configmaps"],"verbs":["get"]}]}}`,
	}
	verdicts := map[path]string{}
	for _, p := range all {
		t.Run(strings.ReplaceAll(p.String(), "/", "|"), func(t *testing.T) {
			verdicts[p] = s.try(t, p, data)
		})
	}
	if !t.Failed() {
		document(t, verdicts)
	}
}

// extend installs a custom resource with two versions and the subresources status and scale,
// and an APIService whose server does not run.
func (s *server) extend(t *testing.T) {
	t.Helper()
	version := func(name string, storage bool) map[string]any {
		replicas := map[string]any{"type": "object",
			"properties": map[string]any{"replicas": map[string]any{"type": "integer"}}}
		return map[string]any{
			"name": name, "served": true, "storage": storage,
			"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "properties": map[string]any{"spec": replicas, "status": replicas}}},
			"subresources": map[string]any{
				"status": map[string]any{},
				"scale": map[string]any{"specReplicasPath": ".spec.replicas",
					"statusReplicasPath": ".status.replicas"},
			},
		}
	}
	name := widgets.Resource + "." + widgets.Group
	s.apply(t, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"+name, map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": name},
		"spec": map[string]any{
			"group": widgets.Group, "scope": "Namespaced",
			"names": map[string]any{"plural": "widgets", "singular": "widget", "kind": "Widget",
				"listKind": "WidgetList"},
			"versions": []any{version("v1", true), version("v1beta1", false)},
		},
	})
	s.apply(t, "/apis/apiregistration.k8s.io/v1/apiservices/v1."+elsewhere.Group, map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": map[string]any{"name": "v1." + elsewhere.Group},
		"spec": map[string]any{
			"group": elsewhere.Group, "version": "v1", "groupPriorityMinimum": 10, "versionPriority": 10, "insecureSkipTLSVerify": true,
			"service": map[string]any{"namespace": namespace, "name": "elsewhere"},
		},
	})
	served := func(url, part string) {
		harness.Until(t, url+" has "+part, func() bool {
			_, answer := s.send(t, "", http.MethodGet, url, "", nil)
			return strings.Contains(answer, part)
		})
	}
	for _, v := range []string{"v1", "v1beta1"} {
		served("/apis/"+widgets.Group+"/"+v, "widgets/scale")
		served("/openapi/v2", "/apis/"+widgets.Group+"/"+v+"/namespaces/{namespace}/widgets/{name}/scale")
	}
	served("/apis/"+elsewhere.Group+"/v1", "service unavailable")
}

var (
	widgets     = schema.GroupVersionResource{Group: "paths.example.com", Version: "v1", Resource: "widgets"}
	widgetsBeta = schema.GroupVersionResource{Group: "paths.example.com", Version: "v1beta1", Resource: "widgets"}
	elsewhere   = schema.GroupVersion{Group: "elsewhere.example.com", Version: "v1"}
)

// try sends the requests of both users to a path and returns "verified" or "refused".
func (s *server) try(t *testing.T, p path, data map[schema.GroupVersionResource]etcd.StorageData) string {
	request := s.request(t, p, data)
	answerOf := func(user string) string {
		if p.subresource == "expiration" {
			request = s.expiration(t, p, user, data[p.GroupVersionResource])
		}
		status, answer := s.send(t, user, methods[p.verb], request.url, request.contentType, request.body())
		return code(status) + " " + strings.Join(strings.Fields(answer), " ")
	}
	answer, other := answerOf(bare), answerOf(full)
	switch {
	case refused.MatchString(answer) && refused.MatchString(other):
		return "refused"
	case verified.MatchString(answer) && !refused.MatchString(other):
		if request.must && !strings.HasPrefix(other, "20") {
			t.Errorf("a caller with every general permission is refused: %s", other)
		}
		return "verified"
	}
	t.Errorf("neither verified nor refused. With granular alone: %s\nwith every general permission: %s", answer, other)
	return ""
}

// parse decodes an object of the test data.
func parse(t *testing.T, text string, p path) map[string]any {
	t.Helper()
	out := map[string]any{}
	if text != "" {
		if err := json.Unmarshal([]byte(text), &out); err != nil {
			t.Fatal(err)
		}
	}
	out["apiVersion"], out["kind"] = p.GroupVersion().String(), p.kind.Kind
	return out
}
