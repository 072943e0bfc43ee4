// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/tools/cache"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/selection"
)

// TestFind holds by what a delegation is found: its name, its UID, or both if they agree.
func TestFind(t *testing.T) {
	x := family(nil)
	for _, tc := range []struct {
		name  string
		uid   types.UID
		found bool
	}{
		{"child", "", true}, {"", "c", true}, {"child", "c", true},
		{"child", "p", false}, {"parent", "c", false}, {"", "", false}, {"nothing", "", false}, {"", "nothing", false},
	} {
		c, refusal := x.Chain(t.Context(), tc.name, tc.uid, helper)
		if (refusal == nil) != tc.found || tc.found && c.Leaf().Name != "child" {
			t.Errorf("%q %q: %v", tc.name, tc.uid, refusal)
		}
		if !tc.found && (refusal.Reason != NotFound && refusal.Reason != NotDelegate || !strings.Contains(refusal.Message, quoteNameOrUID(tc.name, tc.uid))) {
			t.Errorf("%q %q: %v", tc.name, tc.uid, refusal)
		}
	}
	if quoteNameOrUID("a", "u") != `"a"` || quoteNameOrUID("", "u") != `with the UID "u"` {
		t.Error("a delegation is named otherwise than the caller named it")
	}
	c, refusal := x.Chain(t.Context(), "child", "", &user.DefaultInfo{Name: "mallory"})
	if c == nil || refusal == nil || refusal.Reason != NotDelegate {
		t.Errorf("of somebody else: %v, %v", c, refusal)
	}
}

// TestLongestChain holds how many delegations a chain can have.
func TestLongestChain(t *testing.T) {
	x := NewIndex()
	var history []v1alpha1.ChainEntry
	for i := range v1alpha1.MaxChain + 1 {
		d := toBot()
		d.Name, d.UID = fmt.Sprint("d", i), types.UID(fmt.Sprint("u", i))
		d.Status.Delegator.Username = "bot"
		d.Status.History = slices.Clone(history)
		x.Observe(d, false)
		history = append(history, v1alpha1.ChainEntry{Via: v1alpha1.ViaDelegation, Name: d.Name, UID: d.UID}, v1alpha1.ChainEntry{Via: v1alpha1.ViaToken})
		c, refusal := x.Chain(t.Context(), d.Name, "", &user.DefaultInfo{Name: "bot"})
		if want := i < v1alpha1.MaxChain; (refusal == nil) != want || want && len(c.Links) != i+1 {
			t.Errorf("a chain of %d: %v", i+1, refusal)
		}
	}
}

// TestFetch holds when a delegation that this server does not know is read from storage, with its
// ancestors, and that one which was removed is not.
func TestFetch(t *testing.T) {
	known := family(nil)
	stored := map[string]*v1alpha1.AuthorityDelegation{}
	parent, child := toBot(), toBot()
	parent.Name, parent.UID, parent.Status.Delegator.Username = "parent", "p", "alice"
	child.Name, child.UID, child.ResourceVersion, child.Spec.Delegates[0].Name = "child", "c", "2", "helper"
	child.Status.Delegator.Username = "bot"
	child.Status.History = []v1alpha1.ChainEntry{{Via: v1alpha1.ViaToken, UID: "pod"}, {Via: v1alpha1.ViaDelegation, Name: "parent", UID: "p"}}
	for _, d := range []*v1alpha1.AuthorityDelegation{parent, child} {
		stored[d.Name] = d
	}
	for name, tc := range map[string]struct {
		prepare   func(x *Index)
		selected  string
		uid       types.UID
		reads     string
		wantFound bool
	}{
		"both are known":             {func(x *Index) { x.stored, x.byName = known.stored, known.byName }, "child", "c", "", true},
		"nothing is known":           {nil, "child", "", "child parent", true},
		"by name and UID":            {nil, "child", "c", "child parent", true},
		"the parent is known":        {func(x *Index) { x.Observe(parent, false) }, "child", "", "child", true},
		"the child is known":         {func(x *Index) { x.Observe(child, false) }, "child", "", "child parent", true},
		"of another UID":             {nil, "child", "d", "child", false},
		"by UID alone":               {nil, "", "c", "", false},
		"not in storage":             {nil, "nothing", "", "nothing", false},
		"the parent is not stored":   {func(x *Index) { x.Observe(parent, true) }, "child", "", "child parent", false},
		"removed, by its UID":        {func(x *Index) { x.Observe(child, true) }, "child", "c", "", false},
		"removed, by its name":       {func(x *Index) { x.Observe(child, true) }, "child", "", "child parent", false},
		"removed, and the watch too": {func(x *Index) { reached(t, x, "2") }, "child", "", "child parent", false},
	} {
		x := NewIndex()
		x.now = func() time.Time { return noon }
		var reads []string
		x.Connect(Sources{Get: func(_ context.Context, name string) (*v1alpha1.AuthorityDelegation, error) {
			reads = append(reads, name)
			if stored[name] == nil {
				return nil, errors.New("not found")
			}
			return stored[name], nil
		}})
		if tc.prepare != nil {
			tc.prepare(x)
		}
		_, refusal := x.Chain(t.Context(), tc.selected, tc.uid, helper)
		if (refusal == nil) != tc.wantFound || strings.Join(reads, " ") != tc.reads {
			t.Errorf("%s: %v after reading %v, want found: %v after %s", name, refusal, reads, tc.wantFound, tc.reads)
		}
	}
	x := NewIndex()
	if _, refusal := x.Chain(t.Context(), "child", "", helper); refusal == nil {
		t.Error("found without storage")
	}
	if d, err := x.ReadStored(t.Context(), "child"); d != nil || err == nil {
		t.Errorf("read without storage: %v, %v", d, err)
	}
	x.Connect(Sources{Get: func(context.Context, string) (*v1alpha1.AuthorityDelegation, error) { return child, nil }})
	if d, err := x.ReadStored(t.Context(), "child"); err != nil || d.UID != "c" || x.ByName("child") != d {
		t.Errorf("read %v, %v", d, err)
	}
	lost := errors.New("lost")
	x.Connect(Sources{Get: func(context.Context, string) (*v1alpha1.AuthorityDelegation, error) { return nil, lost }})
	if d, err := x.ReadStored(t.Context(), "child"); d != nil || err != lost {
		t.Errorf("read %v, %v", d, err)
	}
	if x.ByName("nothing") != nil {
		t.Error("an unknown name has a delegation")
	}
}

// unlocked checks that nothing holds the lock of an index, so that the next change can be made.
func unlocked(t *testing.T, x *Index) {
	t.Helper()
	if !x.mu.TryLock() {
		t.Fatal("the index stays locked")
	}
	x.mu.Unlock()
}

// TestNamespaceWithoutSource holds that an index that is not connected knows no namespace.
func TestNamespaceWithoutSource(t *testing.T) {
	x := NewIndex()
	for _, sources := range []Sources{{}, {Accounts: NewAccounts(nil, nil)}} {
		x.Connect(sources)
		if uid := x.NamespaceUID("n"); uid != "" {
			t.Errorf("the namespace has the UID %q", uid)
		}
	}
}

// TestRunEnds holds that the index does not count as read if the server stops before.
func TestRunEnds(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	x := NewIndex()
	if err := x.Run(ctx, &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) { return nil, ctx.Err() },
	}); err == nil || x.HasSynced() {
		t.Errorf("the server ended: %v, all is known: %t", err, x.HasSynced())
	}
}

// TestUnwrittenUses holds which uses must be written: those that are an eighth of the time without
// use later than the one in storage.
func TestUnwrittenUses(t *testing.T) {
	idle := int64(800)
	x := family(func(_, child *v1alpha1.AuthorityDelegation) {
		child.Spec.IdleSeconds, child.CreationTimestamp = &idle, metav1.NewTime(noon)
	})
	leaf := x.mustChain(t).Leaf()
	for _, step := range []struct {
		after time.Duration
		want  bool
	}{{0, false}, {100*time.Second - 1, false}, {100 * time.Second, true}, {time.Hour, true}} {
		leaf.usage.record(noon.Add(step.after))
		uses := x.UnwrittenUses()
		unlocked(t, x)
		last, found := uses[leaf]
		if found != step.want || len(uses) > 1 || found && !last.Equal(noon.Add(step.after)) {
			t.Errorf("after %v: %v", step.after, uses)
		}
	}
}

// TestLeases holds how long a delegation of a policy stays without an object, and which are over.
func TestLeases(t *testing.T) {
	issued := func(name string, change func(*v1alpha1.AuthorityDelegation)) *v1alpha1.AuthorityDelegation {
		d := toBot()
		d.Name, d.UID, d.CreationTimestamp = name, types.UID(name), metav1.NewTime(noon)
		d.Status.Cause = &v1alpha1.DelegationCause{Policy: "p", OrphanSeconds: 600}
		if change != nil {
			change(d)
		}
		return d
	}
	renewed := func(after time.Duration) func(*v1alpha1.AuthorityDelegation) {
		return func(d *v1alpha1.AuthorityDelegation) {
			d.Status.Cause.Renewed = &metav1.Time{Time: noon.Add(after)}
		}
	}
	for name, tc := range map[string]struct {
		change func(*v1alpha1.AuthorityDelegation)
		start  time.Time
		stays  time.Duration
	}{
		"created":              {nil, noon, 600 * time.Second},
		"renewed":              {renewed(time.Minute), noon.Add(time.Minute), 600 * time.Second},
		"renewed, but earlier": {renewed(-time.Minute), noon, 600 * time.Second},
		"of the least length":  {func(d *v1alpha1.AuthorityDelegation) { d.Status.Cause.OrphanSeconds = v1alpha1.MinOrphanSeconds }, noon, v1alpha1.MinOrphanSeconds * time.Second},
		"shorter than that":    {func(d *v1alpha1.AuthorityDelegation) { d.Status.Cause.OrphanSeconds = 1 }, noon, v1alpha1.MinOrphanSeconds * time.Second},
		"without a length":     {func(d *v1alpha1.AuthorityDelegation) { d.Status.Cause.OrphanSeconds = 0 }, noon, v1alpha1.MinOrphanSeconds * time.Second},
	} {
		d := compile(issued("a", tc.change), 1, nil)
		if start, stays := d.Lease(); !start.Equal(tc.start) || stays != tc.stays {
			t.Errorf("%s: from %v for %v", name, start, stays)
		}
	}
	x := NewIndex()
	if !x.Empty() {
		t.Error("a new index is not empty")
	}
	x.Observe(issued("over", nil), false)
	x.Observe(issued("renewed", renewed(time.Minute)), false)
	x.Observe(issued("asked", func(d *v1alpha1.AuthorityDelegation) {
		d.Status.Cause = nil
		d.Status.History = []v1alpha1.ChainEntry{{Via: v1alpha1.ViaToken, UID: "pod"}, {Via: v1alpha1.ViaDelegation, UID: "over"}, {Via: v1alpha1.ViaDelegation, UID: "renewed"}}
	}), false)
	x.Observe(issued("deleting", func(d *v1alpha1.AuthorityDelegation) {
		d.DeletionTimestamp = &metav1.Time{Time: noon}
		d.Status.History = []v1alpha1.ChainEntry{{Via: v1alpha1.ViaDelegation, UID: "over"}}
	}), false)
	if x.Empty() {
		t.Error("an index with delegations is empty")
	}
	for _, step := range []struct {
		after time.Duration
		want  string
	}{{600*time.Second - 1, ""}, {600 * time.Second, "over"}, {660 * time.Second, "over renewed"}} {
		over, parents := x.ExpiredLeases(noon.Add(step.after))
		unlocked(t, x)
		var names []string
		for _, d := range over {
			names = append(names, d.Name)
		}
		slices.Sort(names)
		if strings.Join(names, " ") != step.want {
			t.Errorf("after %v: %v, want %s", step.after, names, step.want)
		}
		if len(parents) != 2 || !slices.Equal(parents["asked"], []types.UID{"over", "renewed"}) || !slices.Equal(parents["deleting"], []types.UID{"over"}) {
			t.Errorf("ancestors %v", parents)
		}
	}
}

// TestLentUntil holds which delegations are over that kubectl granular lend made.
func TestLentUntil(t *testing.T) {
	x := NewIndex()
	for name, change := range map[string]func(*v1alpha1.AuthorityDelegation){
		"over":       func(*v1alpha1.AuthorityDelegation) {},
		"deleting":   func(d *v1alpha1.AuthorityDelegation) { d.DeletionTimestamp = &metav1.Time{Time: noon} },
		"endless":    func(d *v1alpha1.AuthorityDelegation) { d.Spec.ExpirationTimestamp = nil },
		"unlabeled":  func(d *v1alpha1.AuthorityDelegation) { d.Labels = nil },
		"mislabeled": func(d *v1alpha1.AuthorityDelegation) { d.Labels[selection.LentLabel] = "false" },
		"issued":     func(d *v1alpha1.AuthorityDelegation) { d.Status.Cause = &v1alpha1.DelegationCause{Policy: "p"} },
	} {
		d := toBot()
		d.Name, d.UID, d.Labels = name, types.UID(name), map[string]string{selection.LentLabel: "true"}
		d.Spec.ExpirationTimestamp = &metav1.Time{Time: noon}
		change(d)
		x.Observe(d, false)
	}
	for after, want := range map[time.Duration]string{0: "", 1: "over"} {
		var names []string
		for _, d := range x.LentUntil(noon.Add(after)) {
			names = append(names, d.Name)
		}
		unlocked(t, x)
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%v after the end: %q, want %q", after, got, want)
		}
	}
}

// TestCommit holds that a write under a chain is looked at once more right before it is stored, and
// that what it holds back is freed as often as it was held.
func TestCommit(t *testing.T) {
	x := family(nil)
	free := func() bool {
		if !x.commits.TryLock() {
			return false
		}
		x.commits.Unlock()
		return true
	}
	c := x.mustChain(t).Commit(t.Context(), helper)
	c.End()
	for range 2 {
		for range 2 { // a retry begins again
			if r := c.Begin(nil, nil); r != nil || free() {
				t.Fatalf("%v, free: %v", r, free())
			}
		}
		c.End()
		c.End()
		if !free() {
			t.Fatal("a deletion waits for a write that has ended")
		}
	}
	removed := toBot()
	removed.UID = "p"
	x.Observe(removed, true)
	if r := c.Begin(nil, nil); r == nil || r.Reason != NotFound || !free() {
		t.Errorf("under a chain that is gone: %v, free: %v", r, free())
	}
}
