// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"context"
	"strconv"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/pkg/apis/authority"
	"kube-granular.dev/pkg/delegation/policy"
)

func stored(name string, version int) *v1alpha1.AuthorityDelegationPolicy {
	return &v1alpha1.AuthorityDelegationPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), ResourceVersion: strconv.Itoa(version),
			Generation: int64(version)},
		Spec: v1alpha1.AuthorityDelegationPolicySpec{Resource: v1alpha1.GroupResource(pods)},
	}
}

// TestRunEnds holds that the index does not count as read if the server stops before.
func TestRunEnds(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := policy.NewIndex().Run(ctx, &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) { return nil, ctx.Err() },
	}); err == nil {
		t.Error("the server ended, and all policies are known")
	}
}

// TestIndex holds that the index keeps the newest version of each policy, in whichever order
// requests and the watch report the versions, and that a removed policy does not come back.
func TestIndex(t *testing.T) {
	x := policy.NewIndex()
	watch := x.ReflectorStore()
	internal := func(name string, version int) *authority.AuthorityDelegationPolicy {
		return (*authority.AuthorityDelegationPolicy)(stored(name, version))
	}
	holds := func(what string, want ...string) {
		t.Helper()
		var got []string
		for _, p := range x.For(pods) {
			got = append(got, p.Name+"@"+p.ResourceVersion)
		}
		if len(got) != len(want) {
			t.Fatalf("%s: %v, wanted %v", what, got, want)
		}
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("%s: %v, wanted %v", what, got, want)
			}
		}
	}
	select {
	case <-x.Synced():
		t.Fatal("Synced is closed before anything was read")
	default:
	}
	x.Observe(stored("own", 7), false)
	if err := watch.Replace([]any{internal("b", 2), internal("a", 3)}, "5"); err != nil {
		t.Fatal(err)
	}
	<-x.Synced()
	holds("a list that is older than what was stored here", "a@3", "b@2", "own@7")
	_ = watch.Update(internal("own", 6))
	holds("an older version", "a@3", "b@2", "own@7")
	x.Observe(stored("own", 9), true)
	holds("removed here", "a@3", "b@2")
	_ = watch.Add(internal("own", 8))
	holds("heard of late", "a@3", "b@2")
	_ = watch.Delete(internal("own", 9))
	_ = watch.Delete(internal("a", 10))
	holds("removed elsewhere", "b@2")
	if err := watch.Replace(nil, "11"); err != nil {
		t.Fatal(err)
	}
	holds("nothing is stored")
	if !x.Empty() {
		t.Error("it is not empty")
	}
}

// TestLateNotification holds that a removed policy stays removed if the watch reports the removal
// before the request that stored the policy does.
//
// Attack: a policy that was created and deleted at once, and whose creation is reported last, so that it stays in force
// Answer: the server ignores the late report
func TestLateNotification(t *testing.T) {
	x := policy.NewIndex()
	watch := x.ReflectorStore()
	internal := func(name string, version int) *authority.AuthorityDelegationPolicy {
		return (*authority.AuthorityDelegationPolicy)(stored(name, version))
	}
	if err := watch.Replace(nil, "1"); err != nil {
		t.Fatal(err)
	}
	_ = watch.Add(internal("p", 2))
	_ = watch.Delete(internal("p", 3))
	x.Observe(stored("p", 2), false)
	if !x.Empty() {
		t.Error("a late report of the creation brought back a removed policy")
	}
	x.Observe(stored("p", 3), true)
	x.Observe(stored("p", 2), false)
	if !x.Empty() {
		t.Error("after a late report of the removal, a report of the creation brought back the policy")
	}
	// The twins: what is newer than the watch is put into the index, and a version that the watch
	// has passed updates a policy that exists.
	x.Observe(stored("q", 4), false)
	if got := x.For(pods); len(got) != 1 || got[0].Name != "q" {
		t.Errorf("%v, wanted the policy that a request has just stored", got)
	}
	_ = watch.Add(internal("r", 5))
	_ = watch.Add(internal("other", 9))
	x.Observe(stored("r", 7), false)
	for _, p := range x.For(pods) {
		if p.Name == "r" && p.ResourceVersion != "7" {
			t.Errorf("%s, wanted the newer version", p.ResourceVersion)
		}
	}
}
