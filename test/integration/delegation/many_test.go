// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/test/integration/harness"
	"kube-granular.dev/test/integration/harness/etcd"
)

// BenchmarkMany measures two servers on one etcd with many delegations: 100,000, or the number
// in the environment variable DELEGATIONS. It reports the time that a start takes without and
// with them, the memory for each, and the time from a delegation's deletion until it is
// refused. Run it once, with -benchtime 1x.
func BenchmarkMany(b *testing.B) {
	n := 100_000
	if text := os.Getenv("DELEGATIONS"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			b.Fatal(err)
		}
	}
	endpoint := etcd.Start(b)
	first, startedIn := startPeer(b, endpoint)
	b.ReportMetric(startedIn.Seconds(), "s-start-without")
	before := memory(b, first)
	rules := []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "list"}}}
	create := func(path, body string) {
		b.Helper()
		if got, err := first.do(b.Context(), request{as: "root", method: "POST", path: path, body: body}); err != nil || got.status != 201 {
			b.Fatalf("%s: %v, %s", path, err, got)
		}
	}
	create(rbacPath+"clusterrolebindings", `{"metadata":{"name":"alice"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"view"},"subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"alice"}]}`)
	store, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}})
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	for i := range n {
		d := v1alpha1.AuthorityDelegation{
			TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "AuthorityDelegation"},
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("many-%d", i),
				UID: types.UID(fmt.Sprintf("00000000-0000-0000-0000-%012d", i)), CreationTimestamp: metav1.Now(),
				Generation: 1},
			Spec: v1alpha1.AuthorityDelegationSpec{Delegates: []v1alpha1.Delegate{{Kind: v1alpha1.DelegateUser, Name: "bot"}},
				Rules: rules, Scope: v1alpha1.DelegationScope{Cluster: true}, IfLost: v1alpha1.LossWithdraw},
			Status: v1alpha1.AuthorityDelegationStatus{Delegator: v1alpha1.DelegatorIdentity{Username: "alice", Groups: []string{"system:authenticated"}},
				Rules: rules},
		}
		text, err := json.Marshal(d)
		if err == nil {
			_, err = store.Put(b.Context(), "/registry/kube-granular/authority/authoritydelegations/"+d.Name, string(text))
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	last := request{as: "bot", method: "GET", path: pods("default"), under: named(fmt.Sprintf("many-%d", n-1))}
	until(b, first, last, 200)
	b.ReportMetric((memory(b, first)-before)/float64(n), "B/delegation")
	second, startedIn := startPeer(b, endpoint)
	b.ReportMetric(startedIn.Seconds(), "s-start-with")
	var here, there []float64
	for i := range 50 {
		r := last
		name := fmt.Sprintf("many-%d", i)
		r.under = named(name)
		until(b, second, r, 200)
		if got, err := first.do(b.Context(), request{as: "root", method: "DELETE", path: delegations + "/" + name}); err != nil || got.status != 200 {
			b.Fatalf("%v, %s", err, got)
		}
		gone := time.Now()
		until(b, first, r, 403)
		here = append(here, float64(time.Since(gone).Microseconds())/1000)
		until(b, second, r, 403)
		there = append(there, float64(time.Since(gone).Microseconds())/1000)
	}
	for where, all := range map[string][]float64{"here": here, "there": there} {
		slices.Sort(all)
		b.ReportMetric(all[len(all)/2], "ms-"+where)
		b.ReportMetric(all[len(all)-1], "ms-"+where+"-at-most")
	}
}

func startPeer(b *testing.B, endpoint string) (peer, time.Duration) {
	b.Helper()
	at := time.Now()
	c := harness.Start(b, "--demo=false", "--etcd-servers", endpoint, "--feature-gates", gates)
	took := time.Since(at)
	return peer{c, harness.Connect(b, c, "admin").HTTP}, took
}

// until repeats a request until it gets the status.
func until(b *testing.B, p peer, r request, status int) {
	b.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; {
		got, err := p.do(b.Context(), r)
		if err == nil && got.status == status {
			return
		}
		if time.Now().After(deadline) {
			b.Fatalf("%v, %s, wanted %d", err, got, status)
		}
	}
}

// memory returns the bytes in use on the heap of a server.
func memory(b *testing.B, p peer) float64 {
	b.Helper()
	// The heap profile with gc=1 runs a garbage collection first.
	if got, err := p.do(b.Context(), request{as: "root", method: "GET", path: "/debug/pprof/heap?gc=1"}); err != nil || got.status != http.StatusOK {
		b.Fatalf("%v, %s", err, got)
	}
	got, err := p.do(b.Context(), request{as: "root", method: "GET", path: "/metrics"})
	if err != nil {
		b.Fatal(err)
	}
	return harness.Metric(b, got.body, "go_memstats_heap_alloc_bytes")
}
