// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/pkg/apis/authority"
)

// BenchmarkIndex measures how long an index takes to load 100,000 delegations, and to find one
// of them. Half of them have a parent among the other half.
func BenchmarkIndex(b *testing.B) {
	const n = 100_000
	list := make([]any, n)
	for i := range list {
		rules := []rbacv1.PolicyRule{
			{APIGroups: []string{"apps"}, Resources: []string{"replicasets"},
				Verbs: []string{"create", "update", "patch", "delete"}},
			{APIGroups: []string{""}, Resources: []string{"pods"},
				Verbs: []string{"create", "update", "patch", "delete"}},
		}
		d := &authority.AuthorityDelegation{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("by-policy-%032d", i),
				UID: types.UID(fmt.Sprintf("%036d", i)), ResourceVersion: fmt.Sprint(i + 1)},
			Spec: v1alpha1.AuthorityDelegationSpec{Delegates: []v1alpha1.Delegate{{Kind: v1alpha1.DelegateUser, Name: "bot"}},
				Rules: rules, Scope: v1alpha1.DelegationScope{Cluster: true}},
			Status: v1alpha1.AuthorityDelegationStatus{Delegator: v1alpha1.DelegatorIdentity{Username: "alice", Groups: []string{"people", "system:authenticated"}},
				Rules: rules, Cause: &v1alpha1.DelegationCause{Policy: "p"}},
		}
		if i%2 == 1 {
			d.Status.Delegator.Username = "bot"
			d.Status.History = []v1alpha1.ChainEntry{{Via: v1alpha1.ViaDelegation, By: "alice", UID: types.UID(fmt.Sprintf("%036d", i-1))}}
		}
		list[i] = d
	}
	used := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	var x *Index
	b.Run("start", func(b *testing.B) {
		before := used()
		for b.Loop() {
			x = NewIndex()
			if err := x.ReflectorStore().Replace(list, fmt.Sprint(n)); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(used()-before)/n, "B/delegation")
	})
	bot := &user.DefaultInfo{Name: "bot"}
	b.Run("count", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if c := x.Counts(time.Hour); c.Valid != n {
				b.Fatal(c)
			}
		}
	})
	b.Run("find", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, refusal := x.Chain(b.Context(), "", types.UID(fmt.Sprintf("%036d", n-1)), bot); refusal != nil {
				b.Fatal(refusal)
			}
		}
	})
	runtime.KeepAlive(list)
}
