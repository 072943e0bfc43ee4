// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"strings"
	"testing"

	"kube-granular.dev/test/integration/harness"
)

const leanDefinition = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: %[1]ss.lean.example.com},
 spec: {group: lean.example.com, scope: Cluster, names: {plural: %[1]ss, singular: %[1]s, kind: %[2]s}, versions: [{name: v1, served: true, storage: true,
 schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {a: {type: string,
 x-kubernetes-permission-verb: lean.example.com/%[1]s%[3]s}}}}}}}]}}`

// TestTreesWhenNeeded checks that the server compiles the permission tree of a custom resource
// (the tree of its fields, with the permission that each needs) at an ordinary write only if
// its definition has an excluded permission, which `update` does not include. The server itself
// may compile some trees meanwhile, so the test writes four kinds of each sort and counts fewer
// than four trees as none.
func TestTreesWhenNeeded(t *testing.T) {
	s := onStage(t)
	const compiled, many = `trees_compiled_total{result="compiled"}`, 4
	for _, tc := range []struct{ name, excluded string }{{"open", ""}, {"closed", ", x-kubernetes-permission-excluded: true"}} {
		var definitions, objects, names []string
		for i := range many {
			singular := fmt.Sprintf("%s%d", tc.name, i)
			kind := strings.ToUpper(singular[:1]) + singular[1:]
			definitions = append(definitions, fmt.Sprintf(leanDefinition, singular, kind, tc.excluded))
			objects = append(objects, fmt.Sprintf(`{apiVersion: lean.example.com/v1, kind: %s, metadata: {name: x}, spec: {a: b}}`, kind))
			names = append(names, "crd/"+singular+"s.lean.example.com")
		}
		harness.MustKubectl(t, s.Cluster, strings.Join(definitions, "\n---\n"), "apply", "-f", "-")
		harness.MustKubectl(t, s.Cluster, "", append([]string{"wait", "--for=condition=Established", "--timeout=60s"}, names...)...)
		before := harness.Metrics(t, s.Cluster)[compiled]
		harness.MustKubectl(t, s.Cluster, strings.Join(objects, "\n---\n"), "apply", "-f", "-")
		if grown := harness.Metrics(t, s.Cluster)[compiled] - before; (grown >= many) != (tc.excluded != "") {
			t.Errorf("%s: %v trees were compiled for %d kinds", tc.name, grown, many)
		}
		harness.MustKubectl(t, s.Cluster, "", append([]string{"delete", "--wait=false"}, names...)...)
	}
}
