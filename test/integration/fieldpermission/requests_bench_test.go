// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldpermission

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/test/integration/cluster"
	"kube-granular.dev/test/integration/harness"
)

// BenchmarkRequestsWithEntries measures the processor time of a whole server, etcd included, and the bytes that it allocates, for
// ordinary requests of a caller with patch: of a ConfigMap and of a Deployment. One server has no FieldPermissions, one a thousand for other resources, and one
// those of pods, which hold in the template of the Deployment. The servers take turns, and the results are ratios to the first
// server; "control" is another one without FieldPermissions.
func BenchmarkRequestsWithEntries(b *testing.B) {
	const requests = 400
	start := func(entries ...map[string]any) *cluster.Cluster {
		c := harness.Start(b, "--demo=false", "--feature-gates", "FieldPermissions=true")
		for path, body := range benchObjects {
			mustSend(b, c, "", http.MethodPost, path, "json", body)
		}
		for _, e := range entries {
			mustSend(b, c, "", http.MethodPost, fieldPermissions, "json", e)
		}
		return c
	}
	var others []map[string]any
	for i := range many {
		others = append(others, object(fmt.Sprintf("r%d.example.com", i), v1alpha1.ModeEnforce, "v1", excluded(".spec.a", "example.com/a")))
	}
	sides := []struct {
		name string
		c    *cluster.Cluster
	}{
		{"none", start()}, {"control", start()}, {"others", start(others...)},
		{"pods", start(object("pods", v1alpha1.ModeEnforce, "v1", excluded(".spec.hostNetwork", "example.com/net"), excluded(".spec.hostPID", "example.com/pid")))},
	}
	n := 0
	spent := func(c *cluster.Cluster, path string) cost {
		before := costOf(b, c)
		for range requests {
			n++
			mustSend(b, c, "bench", http.MethodPatch, path, "merge", fmt.Sprintf(`{"metadata":{"labels":{"n":"%d"}}}`, n))
		}
		after := costOf(b, c)
		return cost{cpu: after.cpu - before.cpu, bytes: after.bytes - before.bytes}
	}
	paths := map[string]string{"configmap": "/api/v1/namespaces/default/configmaps/bench", "deployment": "/apis/apps/v1/namespaces/default/deployments/bench"}
	ratios := map[string][]float64{}
	for _, path := range paths {
		for _, side := range sides {
			spent(side.c, path)
		}
	}
	for turn := 0; b.Loop(); turn++ {
		for kind, path := range paths {
			costs := map[string]cost{}
			for i := range sides { // in another order in each turn
				side := sides[(i*(1+turn/len(sides)%2*2)+turn)%len(sides)]
				costs[side.name] = spent(side.c, path)
			}
			first := costs[sides[0].name]
			for _, side := range sides[1:] {
				name := kind + "-" + side.name
				ratios[name+"-cpu"] = append(ratios[name+"-cpu"], costs[side.name].cpu/first.cpu)
				ratios[name+"-bytes"] = append(ratios[name+"-bytes"], costs[side.name].bytes/first.bytes)
			}
		}
	}
	for name, all := range ratios {
		slices.Sort(all)
		b.ReportMetric(all[len(all)/2], name+"/none")
		b.Logf("%s: %.3f [%.3f..%.3f], %d turns", name, all[len(all)/2], all[len(all)/4], all[len(all)*3/4], len(all))
	}
}

// benchObjects are what each server has, by the path to which it is sent.
var benchObjects = map[string]string{
	"/api/v1/namespaces/default/configmaps": `{"metadata":{"name":"bench"},"data":{"a":"b"}}`,
	"/apis/apps/v1/namespaces/default/deployments": `{"metadata":{"name":"bench"},"spec":{"selector":{"matchLabels":{"a":"b"}},
		"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i","ports":[{"containerPort":80}],"env":[{"name":"A","value":"b"}]}]}}}}`,
	"/apis/rbac.authorization.k8s.io/v1/clusterroles": `{"metadata":{"name":"bench"},"rules":[{"apiGroups":["","apps"],"resources":["configmaps","deployments"],"verbs":["get","patch"]}]}`,
	"/apis/rbac.authorization.k8s.io/v1/clusterrolebindings": `{"metadata":{"name":"bench"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"bench"},
		"subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"bench"}]}`,
}

// mustSend sends a request that must succeed. A caller whose role the server has not seen yet tries again.
func mustSend(b *testing.B, c *cluster.Cluster, user, method, path, contentType string, body any) {
	b.Helper()
	text, isText := body.(string)
	if !isText {
		data, err := json.Marshal(body)
		if err != nil {
			b.Fatal(err)
		}
		text = string(data)
	}
	for tries := 0; ; tries++ {
		code, answer, err := harness.Request(c, user, method, path, harness.ContentTypes[contentType], text)
		if err == nil && code < 300 {
			return
		}
		if err != nil || code != http.StatusForbidden || tries == 1000 {
			b.Fatalf("%s %s: %d %s %v", method, path, code, answer, err)
		}
	}
}

// cost is what a server has used since its start: processor time in seconds, and allocated bytes.
type cost struct{ cpu, bytes float64 }

// costOf returns what a server shows in its metrics.
func costOf(b *testing.B, c *cluster.Cluster) cost {
	b.Helper()
	_, text, err := harness.Request(c, "", http.MethodGet, "/metrics", "", "")
	if err != nil {
		b.Fatal(err)
	}
	return cost{cpu: harness.Metric(b, text, "process_cpu_seconds_total"), bytes: harness.Metric(b, text, "go_memstats_alloc_bytes_total")}
}
