// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"kube-granular.dev/test/integration/harness"
)

// BenchmarkPolicy measures the creation of a pod on the running server: without a policy, in a
// known and in a new namespace; in a new namespace where a policy makes a delegation; and where
// that delegation exists already. It reports CPU time of the server with its etcd, and the
// writes to etcd, for each creation.
func BenchmarkPolicy(b *testing.B) {
	send := func(method, path, body string, status int) response {
		b.Helper()
		got, err := request{as: "root", method: method, path: path, body: body}.do(b.Context())
		if err != nil || got.status != status {
			b.Fatalf("%s %s: %v, %s", method, path, err, got)
		}
		return got
	}
	revision := func() int {
		var list struct {
			Metadata struct{ ResourceVersion string }
		}
		if err := json.Unmarshal([]byte(send("GET", "/api/v1/namespaces/default/configmaps", "", 200).body), &list); err != nil {
			b.Fatal(err)
		}
		n, err := strconv.Atoi(list.Metadata.ResourceVersion)
		if err != nil {
			b.Fatal(err)
		}
		return n
	}
	used := func() float64 {
		return harness.Metric(b, send("GET", "/metrics", "", 200).body, "process_cpu_seconds_total")
	}
	namespace := func() string {
		name := fmt.Sprintf("b-%d", unique.Add(1))
		send("POST", "/api/v1/namespaces", fmt.Sprintf(`{"metadata":{"name":%q,"labels":{"policy":"yes"}}}`, name), 201)
		send("POST", "/api/v1/namespaces/"+name+"/serviceaccounts", `{"metadata":{"name":"default"}}`, 201)
		return name
	}
	pod := func() string {
		return fmt.Sprintf(`{"metadata":{"name":"p-%d"},"spec":{"containers":[{"name":"c","image":"i"}]}}`, unique.Add(1))
	}
	create := func(b *testing.B, namespaces []string) {
		cpu, at := used(), revision()
		b.ResetTimer()
		for i := range b.N {
			send("POST", pods(namespaces[i%len(namespaces)]), pod(), 201)
		}
		b.StopTimer()
		b.ReportMetric((used()-cpu)*1e6/float64(b.N), "server-cpu-us/op")
		b.ReportMetric(float64(revision()-at)/float64(b.N), "etcd-writes/op")
	}
	name := fmt.Sprintf("p-%d", unique.Add(1))
	body := strings.Replace(policy{resource: "/pods", rules: getPods}.body(name), `"kubernetes.io/metadata.name":""`, `"policy":"yes"`, 1)
	kept := strings.Replace(body, `"delegates"`, `"ifLost":"Keep","delegates"`, 1)
	for round := range 3 {
		b.Run(fmt.Sprintf("round=%d/without", round), func(b *testing.B) { create(b, []string{namespace()}) })
		fresh := func(b *testing.B) {
			var all []string
			for range b.N {
				all = append(all, namespace())
			}
			create(b, all)
		}
		// In a new namespace, admission looks up objects that it does not know yet, with or
		// without a policy. This run measures that.
		b.Run(fmt.Sprintf("round=%d/fresh", round), fresh)
		send("POST", policies, kept, 201)
		b.Run(fmt.Sprintf("round=%d/kept", round), fresh)
		send("DELETE", policies+"/"+name, "", 200)
		send("POST", policies, body, 201)
		b.Run(fmt.Sprintf("round=%d/first", round), fresh)
		b.Run(fmt.Sprintf("round=%d/later", round), func(b *testing.B) {
			n := namespace()
			send("POST", pods(n), pod(), 201)
			create(b, []string{n})
		})
		send("DELETE", policies+"/"+name, "", 200)
	}
}
