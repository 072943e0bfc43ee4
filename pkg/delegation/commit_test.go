// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"sync"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/tools/cache"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/pkg/apis/authority"
)

func toBot() *v1alpha1.AuthorityDelegation {
	return &v1alpha1.AuthorityDelegation{
		ObjectMeta: metav1.ObjectMeta{Name: "d", UID: "u", ResourceVersion: "1"},
		Spec: v1alpha1.AuthorityDelegationSpec{
			Delegates: []v1alpha1.Delegate{{Kind: v1alpha1.DelegateUser, Name: "bot"}},
			Scope:     v1alpha1.DelegationScope{Cluster: true},
		},
	}
}

// TestNothingAfterDrain holds that when WaitForCommits returns after the removal of a
// delegation, no write under that delegation is under way, and that none begins later.
func TestNothingAfterDrain(t *testing.T) {
	bot := &user.DefaultInfo{Name: "bot"}
	for range 200 {
		x := NewIndex()
		d := toBot()
		x.Observe(d, false)
		chain, refusal := x.Chain(t.Context(), "d", "", bot)
		if refusal != nil {
			t.Fatal(refusal)
		}
		var writing, written atomic.Int64
		var drained atomic.Bool
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for {
					commit := chain.Commit(t.Context(), bot)
					if commit.Begin(nil, nil) != nil {
						return
					}
					writing.Add(1)
					if drained.Load() {
						t.Error("a write began after WaitForCommits had returned")
					}
					written.Add(1)
					writing.Add(-1)
					commit.End()
				}
			})
		}
		for written.Load() < 10 {
		}
		x.Observe(d, true)
		x.WaitForCommits()
		if n := writing.Load(); n != 0 {
			t.Errorf("%d writes are under way", n)
		}
		drained.Store(true)
		all.Wait()
	}
}

// TestNotAgain holds that a delegation which was removed does not come back into the index when
// an older version of it is observed late.
func TestNotAgain(t *testing.T) {
	bot := &user.DefaultInfo{Name: "bot"}
	x := NewIndex()
	d := toBot()
	x.Observe(d, false)
	x.Observe(d, true)
	x.Observe(d, false)
	if _, refusal := x.Chain(t.Context(), "d", "", bot); refusal == nil || refusal.Reason != NotFound {
		t.Errorf("after its removal: %v", refusal)
	}
	// The watch has passed the removal too, and the tombstone is gone. Then a late read of the
	// old version is observed.
	gone := d.DeepCopy()
	gone.ResourceVersion = "2"
	reached(t, x, "2")
	x.Observe(d, false)
	if _, refusal := x.Chain(t.Context(), "d", "", bot); refusal == nil {
		t.Error("the removed delegation came back")
	}
}

// reached lets the watch of an index reach a version.
func reached(t *testing.T, x *Index, version string) {
	t.Helper()
	if err := x.ReflectorStore().(cache.ReflectorBookmarkStore).Bookmark(version); err != nil {
		t.Fatal(err)
	}
}

// TestLateReports holds that reports of requests which come after the watch has reported the removal of
// a delegation neither bring it back nor leave a tombstone behind.
func TestLateReports(t *testing.T) {
	x := NewIndex()
	watch := x.ReflectorStore()
	stored, removed := toBot(), toBot()
	stored.ResourceVersion, removed.ResourceVersion = "2", "3"
	if err := watch.Replace(nil, "1"); err != nil {
		t.Fatal(err)
	}
	_ = watch.Add((*authority.AuthorityDelegation)(stored))
	_ = watch.Delete((*authority.AuthorityDelegation)(removed))
	x.Observe(stored, false)
	x.Observe(removed, true)
	x.Observe(stored, false)
	if !x.Empty() || x.stored.Tombstone("u") > 0 {
		t.Errorf("%d delegations, a tombstone of %d", x.count.Load(), x.stored.Tombstone("u"))
	}
	// The twin: a removal that the watch has not reported yet leaves one.
	newer := toBot()
	newer.UID, newer.ResourceVersion = "v", "5"
	x.Observe(newer, true)
	x.Observe(newer, false)
	if !x.Empty() || x.stored.Tombstone("v") != 5 {
		t.Errorf("%d delegations, a tombstone of %d", x.count.Load(), x.stored.Tombstone("v"))
	}
}
