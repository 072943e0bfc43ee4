// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"fmt"
	"syscall"
	"testing"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"kube-granular.dev/api/selection"
	"kube-granular.dev/pkg/rbacindex"
)

// TestCostOfNothing holds that the authorization of a caller without a selection makes no
// allocation more than without this package.
func TestCostOfNothing(t *testing.T) {
	p, jane := jane(t)
	configured := chained(t, p.rbac, p.rbac)
	q := ask(jane, "get", "n", "secrets")
	count := func(a authorizer.Authorizer) float64 {
		return testing.AllocsPerRun(100, func() {
			if d, _, _ := a.Authorize(t.Context(), q); d != authorizer.DecisionAllow {
				t.Fatal("not allowed")
			}
		})
	}
	if plain, with := count(configured), count(New(configured, nil, nil)); with > plain {
		t.Errorf("%v allocations, %v without the package", with, plain)
	}
}

// BenchmarkAuthorize measures one authorization, in a namespace with many bindings to as many
// roles, of which the caller has one or all. The cases are: without this package, without a
// selection, with a selected role that the caller is bound to, and with one whose rules the
// caller holds by other roles. RBAC lists all bindings, as for a read, or finds those of the
// caller by an index, as for a write.
func BenchmarkAuthorize(b *testing.B) {
	for _, all := range []bool{false, true} {
		for _, n := range []int{10, 1000, 10000} {
			p := newPolicy()
			for i := range n {
				name := fmt.Sprintf("user-%d", i)
				if all {
					name = "user-0"
				}
				put(b, p.clusterRoles, clusterRole(fmt.Sprintf("r%d", i), on("get", fmt.Sprintf("things-%d", i)), on("create", fmt.Sprintf("things-%d", i))))
				put(b, p.roleBindings, binding("n", fmt.Sprintf("b%d", i), "ClusterRole", fmt.Sprintf("r%d", i), named(name)))
			}
			put(b, p.clusterRoles, clusterRole("part", on("create", "things-0")))
			caller := &user.DefaultInfo{Name: "user-0", Groups: []string{user.AllAuthenticated}}
			configured := chained(b, p.rbac, p.rbac)
			whose := "one"
			if all {
				whose = "all"
			}
			for _, of := range []struct {
				name string
				a    authorizer.Authorizer
				as   user.Info
				verb string
			}{
				{"without", configured, caller, "create"},
				{"ambient", New(configured, nil, nil), caller, "create"},
				{"bound", New(configured, nil, nil), selecting(b, caller, selection.ClusterRole("r0")), "create"},
				{"covered", New(configured, nil, nil), selecting(b, caller, selection.ClusterRole("part")), "create"},
				{"told", New(configured, nil, nil), told(b, caller, selection.ClusterRole("r0")), "create"},
			} {
				q := ask(of.as, of.verb, "n", "things-0")
				b.Run(fmt.Sprintf("listed/mine=%s/bindings=%d/%s", whose, n, of.name), func(b *testing.B) {
					b.ReportAllocs()
					defer reportCPU(b)()
					for b.Loop() {
						if d, _, _ := of.a.Authorize(b.Context(), q); d != authorizer.DecisionAllow {
							b.Fatal("not allowed")
						}
					}
				})
				b.Run(fmt.Sprintf("bySubject/mine=%s/bindings=%d/%s", whose, n, of.name), func(b *testing.B) {
					b.ReportAllocs()
					defer reportCPU(b)()
					for b.Loop() {
						if d, _, _ := of.a.Authorize(rbacindex.For(b.Context(), q), q); d != authorizer.DecisionAllow {
							b.Fatal("not allowed")
						}
					}
				})
			}
		}
	}
}

// reportCPU adds the processor time per operation to the results. Unlike the elapsed time, it
// does not depend on what else the machine does.
func reportCPU(b *testing.B) func() {
	used := func() int64 {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return u.Utime.Nano() + u.Stime.Nano()
	}
	before := used()
	return func() { b.ReportMetric(float64(used()-before)/float64(b.N), "cpu-ns/op") }
}
