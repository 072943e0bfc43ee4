// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"kube-granular.dev/test/integration/harness"
)

// BenchmarkStoredVersions measures the processor time of the whole server, etcd included, for a
// granular request that changes a field of a custom resource. The request is in the stored version,
// in another version with an equal schema, or in a version that lacks a field which the object does
// not have. The last way is in the stored version, and another object has a field that no version
// shows. The ways take turns, and the results are ratios to the first way.
func BenchmarkStoredVersions(b *testing.B) {
	send := func(user, method, path, kind string, object any) {
		data, err := json.Marshal(object)
		if err != nil {
			b.Fatal(err)
		}
		for deadline := time.Now().Add(time.Minute); ; {
			status, answer, err := harness.Request(on, user, method, path, harness.ContentTypes[kind], string(data))
			if err == nil && status < 300 {
				return
			}
			if time.Now().After(deadline) {
				b.Fatalf("%s %s: %d %s %v", method, path, status, answer, err)
			}
		}
	}
	define := func(plural, spec, other string) {
		version := func(name, spec string) any {
			var schema any
			if err := yaml.Unmarshal([]byte(`{openAPIV3Schema: {type: object, properties: {spec: {type: object, x-kubernetes-permission-verb: specification, properties: {`+spec+`}}}}}`), &schema); err != nil {
				b.Fatal(err)
			}
			return map[string]any{"name": name, "served": true, "storage": name == "v1", "schema": schema}
		}
		send("", http.MethodPatch, harness.Definitions+"/"+plural+".bench.example.com?fieldManager=b&force=true", "apply", map[string]any{
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": plural + ".bench.example.com"},
			"spec": map[string]any{"group": "bench.example.com", "scope": "Namespaced", "versions": []any{version("v1", spec), version("v1beta1", other)},
				"names": map[string]any{"plural": plural, "singular": plural, "kind": "K" + plural, "listKind": "K" + plural + "List"}}})
	}
	fields := "count: {type: integer}, words: {type: object, additionalProperties: {type: string}}"
	words := map[string]any{}
	for i := range 60 {
		words[fmt.Sprintf("word-%d", i)] = strings.Repeat("x", 30)
	}
	create := func(plural, name string, spec map[string]any) {
		send("", http.MethodPatch, "/apis/bench.example.com/v1/namespaces/default/"+plural+"/"+name+"?fieldManager=b&force=true", "apply", map[string]any{
			"apiVersion": "bench.example.com/v1", "kind": "K" + plural, "metadata": map[string]any{"name": name}, "spec": spec})
	}
	more := fields + ", hidden: {type: string}"
	define("same", more, more)
	define("lacks", more, fields)
	define("lost", more, more)
	for _, plural := range []string{"same", "lacks", "lost"} {
		create(plural, "o", map[string]any{"count": 0, "words": words})
	}
	create("lost", "p", map[string]any{"count": 0, "hidden": "x"})
	define("lost", fields, fields)
	send("", http.MethodPost, "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles", "json", map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": map[string]any{"name": "bench"},
		"rules": []any{map[string]any{"apiGroups": []string{"bench.example.com"}, "resources": []string{"*"}, "verbs": []string{"granular", "granular:specification", "get"}}}})
	send("", http.MethodPost, "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings", "json", map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": map[string]any{"name": "bench"},
		"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "bench"},
		"subjects": []any{map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "bench"}}})

	ways := []string{"v1/namespaces/default/same", "v1beta1/namespaces/default/same", "v1beta1/namespaces/default/lacks", "v1/namespaces/default/lost"}
	names := []string{"stored", "equal-schema", "lacks-a-field", "lost-field"}
	n := 0
	spent := func(way string, requests int) float64 {
		before := processorTime(b)
		for range requests {
			n++
			send("bench", http.MethodPatch, "/apis/bench.example.com/"+way+"/o", "merge", map[string]any{"spec": map[string]any{"count": n}})
		}
		return processorTime(b) - before
	}
	for _, way := range ways {
		spent(way, 50)
	}
	ratios := make([][]float64, len(ways))
	for b.Loop() {
		first := spent(ways[0], 150)
		for i, way := range ways[1:] {
			ratios[i+1] = append(ratios[i+1], spent(way, 150)/first)
		}
		ratios[0] = append(ratios[0], spent(ways[0], 150)/first)
	}
	for i, all := range ratios {
		slices.Sort(all)
		b.ReportMetric(all[len(all)/2], names[i]+"/stored")
	}
}

// processorTime returns the processor time of the server in seconds.
func processorTime(b *testing.B) float64 {
	_, text, err := harness.Request(on, "", http.MethodGet, "/metrics", "", "")
	if err != nil {
		b.Fatal(err)
	}
	return harness.Metric(b, text, "process_cpu_seconds_total")
}
