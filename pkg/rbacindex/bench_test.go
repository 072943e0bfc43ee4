// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package rbacindex

import (
	"fmt"
	"runtime"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	upstream "k8s.io/apiserver/pkg/authorization/authorizer"
)

// BenchmarkAuthorize measures an RBAC check of a caller who has one of many bindings in a
// namespace, without and with a context from For. The metric index-B is the memory that the
// index takes for each binding.
func BenchmarkAuthorize(b *testing.B) {
	for _, bindings := range []int{1, 100, 10000} {
		p := newPolicy()
		put(b, p.clusterRoles, clusterRole("r", "v"))
		for i := range bindings {
			name := fmt.Sprintf("user-%d", i)
			put(b, p.bindings, binding("n", name, "r", rbacv1.Subject{Kind: rbacv1.UserKind, Name: name}))
		}
		question := upstream.AttributesRecord{User: &user.DefaultInfo{Name: "user-0", Groups: []string{user.AllAuthenticated}},
			Verb: "v", Namespace: "n", Resource: "things", ResourceRequest: true}
		before := heapKept()
		if decision, _, _ := p.narrow.Authorize(For(b.Context(), question), question); decision != upstream.DecisionAllow {
			b.Fatal("not allowed")
		}
		index := float64(heapKept()-before) / float64(bindings)
		b.Run(fmt.Sprintf("all/bindings=%d", bindings), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p.narrow.Authorize(b.Context(), question)
			}
		})
		b.Run(fmt.Sprintf("for/bindings=%d", bindings), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p.narrow.Authorize(For(b.Context(), question), question)
			}
			b.ReportMetric(index, "index-B")
		})
		runtime.KeepAlive(p)
	}
}

// heapKept returns the size of the heap after a garbage collection.
func heapKept() int64 {
	runtime.GC()
	runtime.GC()
	m := runtime.MemStats{}
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
