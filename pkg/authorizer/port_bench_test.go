// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authorizer

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	rbacv1 "k8s.io/api/rbac/v1"
)

// BenchmarkSixteenRefused compares sixteen verbs that are refused, together and one
// by one, with one check that is refused, as bindings grow. The three take turns, and
// what is compared is CPU time of the thread.
func BenchmarkSixteenRefused(b *testing.B) {
	var ask []string
	for i := range 16 {
		ask = append(ask, fmt.Sprintf("granular:p%d", i))
	}
	for _, bindings := range []int{1, 10, 100, 1000, 10000} {
		r := &roles{}
		r.grant("jane", rbacv1.PolicyRule{Verbs: []string{"granular", "get"}, APIGroups: []string{"example.com"}, Resources: []string{"things"}})
		for len(r.clusterRoles) < bindings {
			r.grant("joe", rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{"*"}, Resources: []string{"*"}})
		}
		authorizer := r.authorizer()
		sides := []struct {
			name   string
			rounds int
			run    func(*port) (int, error)
		}{
			{"one-check", 20, func(p *port) (int, error) { return p.oneByOne(b.Context(), ask[:1]) }},
			{"together", 20, func(p *port) (int, error) { return p.FirstAllowed(b.Context(), ask) }},
			{"one-by-one", 2, func(p *port) (int, error) { return p.oneByOne(b.Context(), ask) }},
		}
		b.Run(fmt.Sprintf("bindings=%d", bindings), func(b *testing.B) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			spent := make([]time.Duration, len(sides))
			for b.Loop() {
				for i, side := range sides {
					start := threadCPU(b)
					for range side.rounds {
						if got, err := side.run(&port{authorizer: authorizer, attributes: attributes("patch")}); got >= 0 || err != nil {
							b.Fatal(got, err)
						}
					}
					spent[i] += (threadCPU(b) - start) / time.Duration(side.rounds)
				}
			}
			b.ReportMetric(0, "ns/op")
			for i, side := range sides {
				b.ReportMetric(float64(spent[i].Nanoseconds())/float64(b.N), "ns/"+side.name)
				if i > 0 {
					b.ReportMetric(float64(spent[i])/float64(spent[0]), "x/"+side.name)
				}
			}
		})
	}
}

// onThread starts to measure, and gives what ends it and reports the CPU time of the
// thread for one round: a busy machine does not count.
func onThread(b *testing.B) func() {
	runtime.LockOSThread()
	start := threadCPU(b)
	return func() {
		b.ReportMetric(float64((threadCPU(b)-start).Nanoseconds())/float64(b.N), "cpu-ns/op")
		runtime.UnlockOSThread()
	}
}

func threadCPU(t testing.TB) time.Duration {
	ts := unix.Timespec{}
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		t.Fatal(err)
	}
	return time.Duration(ts.Nano())
}
