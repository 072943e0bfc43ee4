// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"kube-granular.dev/pkg/mirror"
	"kube-granular.dev/pkg/mirror/mirrortest"
)

type object = *metav1.PartialObjectMetadata

func version(name, uid, version string) object {
	return &metav1.PartialObjectMetadata{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(uid), ResourceVersion: version},
	}
}

// probe is a mirror of objects, with the changes that it was told.
type probe[K comparable] struct {
	*mirror.Mirror[K, object, string]
	lock    sync.RWMutex
	changes []string
}

func newProbe[K comparable](key func(object) K) *probe[K] {
	p := &probe[K]{}
	p.Mirror = mirror.New(&p.lock, mirror.Kind[K, object, string]{
		Key: key,
		Compile: func(o object, version uint64, old *string) *string {
			text := fmt.Sprintf("%s@%d", o.Name, version)
			if old != nil {
				text += "<" + strings.SplitN(*old, "<", 2)[0]
			}
			return &text
		},
		OnChange: func(changes []mirror.Change[string]) {
			var out []string
			for _, c := range changes {
				switch {
				case c.Old == nil:
					out = append(out, "+"+*c.New)
				case c.New == nil:
					out = append(out, "-"+*c.Old)
				default:
					out = append(out, *c.New)
				}
			}
			slices.Sort(out)
			p.changes = append(p.changes, fmt.Sprint(out))
		},
	})
	return p
}

func byName(o object) string   { return o.Name }
func byUID(o object) types.UID { return o.UID }

func (p *probe[K]) held() (out []string) {
	p.lock.RLock()
	defer p.lock.RUnlock()
	for text := range p.All() {
		out = append(out, strings.SplitN(*text, "<", 2)[0])
	}
	return out
}

func index[K comparable](key func(object) K) func() mirrortest.Index[object] {
	return func() mirrortest.Index[object] {
		p := newProbe(key)
		return mirrortest.Index[object]{
			New:     func(name, v string) object { return version(name, "uid of "+name, v) },
			Observe: p.Observe, Watch: p.ReflectorStore(), HasSynced: p.HasSynced, Held: p.held,
		}
	}
}

// TestReports holds what a mirror has after reports in any order, whatever identifies its objects.
//
// Attack: late reports, a late watch, an old list and objects without a version, so that removed authority comes back
// Answer: the newest change of each object counts, and nothing that was removed comes back
// Was: a protected attribute that another server removed came back by a late report
func TestReports(t *testing.T) {
	t.Run("by name", func(t *testing.T) { mirrortest.Run(t, index(byName)) })
	t.Run("by UID", func(t *testing.T) { mirrortest.Run(t, index(byUID)) })
}

// TestSameName holds that objects which follow each other under one name are one object for a mirror
// by name, and several for a mirror by UID.
func TestSameName(t *testing.T) {
	names, uids := newProbe(byName), newProbe(byUID)
	for _, o := range []object{version("a", "2", "7"), version("a", "1", "5")} {
		names.Observe(o, false)
		uids.Observe(o, false)
	}
	if got := strings.Join(names.held(), " "); got != "a@7" {
		t.Errorf("by name: %s", got)
	}
	held := uids.held()
	slices.Sort(held)
	if got := strings.Join(held, " "); got != "a@5 a@7" {
		t.Errorf("by UID: %s", got)
	}
	names.Observe(version("a", "1", "6"), true)
	uids.Observe(version("a", "1", "6"), true)
	for what, held := range map[string][]string{"by name": names.held(), "by UID": uids.held()} {
		if got := strings.Join(held, " "); got != "a@7" {
			t.Errorf("%s after the removal of the first: %s", what, got)
		}
	}
}

// TestChanges holds that each report that changes something is told once, before it returns, with what
// the mirror had of the object before, and that no other report is told. The watch gets an error for each
// report that the mirror can't apply, and for no other.
func TestChanges(t *testing.T) {
	p := newProbe(byName)
	w := p.ReflectorStore()
	for i, step := range []struct {
		report func() error
		want   string
		fails  bool
	}{
		{func() error { p.Observe(version("a", "", "5"), false); return nil }, "[+a@5]", false},
		{func() error { p.Observe(version("a", "", "4"), false); return nil }, "", false},
		{func() error { return w.Add(version("a", "", "5")) }, "", false},
		{func() error { return w.Update(version("a", "", "6")) }, "[a@6<a@5]", false},
		{func() error { p.Observe(version("b", "", "7"), true); return nil }, "", false},
		{func() error { return w.Delete(version("b", "", "7")) }, "", false},
		{func() error {
			return w.Replace([]any{version("a", "", "6"), version("c", "", "8")}, "9")
		}, "[+c@8]", false},
		{func() error {
			return w.Replace([]any{version("a", "", "6"), version("c", "", "8")}, "10")
		}, "", false},
		{func() error { return w.Replace([]any{version("c", "", "11")}, "12") }, "[-a@6<a@5 c@11<c@8]", false},
		{func() error { return w.Replace([]any{version("d", "", "13"), version("e", "", "x")}, "14") }, "", true},
		{func() error { p.Observe(version("c", "", "15"), true); return nil }, "[-c@11<c@8]", false},
		{func() error { p.Observe(version("f", "", "20"), false); return nil }, "[+f@20]", false},
		{func() error { return w.Replace([]any{version("f", "", "16")}, "18") }, "", false},
		{func() error { return w.Add(version("g", "", "")) }, "", true},
		{func() error { return w.Update(version("f", "", "x")) }, "", true},
		{func() error { return w.Delete(version("f", "", "0")) }, "", true},
		{w.Resync, "", false},
	} {
		p.changes = nil
		if err := step.report(); (err != nil) != step.fails {
			t.Errorf("step %d: an error %v, want one: %v", i, err, step.fails)
		}
		if got := strings.Join(p.changes, ", "); got != step.want {
			t.Errorf("step %d: told %q, want %q", i, got, step.want)
		}
	}
}

// TestTombstones holds how long a removal that a request reported is remembered: until the watch has
// reached its version.
func TestTombstones(t *testing.T) {
	type then = func(p *probe[string]) error
	event := func(v string) then {
		return func(p *probe[string]) error { return p.ReflectorStore().Delete(version("a", "", v)) }
	}
	bookmark := func(v string) then {
		return func(p *probe[string]) error { return p.ReflectorStore().(cache.ReflectorBookmarkStore).Bookmark(v) }
	}
	list := func(v string) then {
		return func(p *probe[string]) error { return p.ReflectorStore().Replace(nil, v) }
	}
	request := func(v string, gone bool) then {
		return func(p *probe[string]) error { p.Observe(version("a", "", v), gone); return nil }
	}
	for name, tc := range map[string]struct {
		then
		want uint64
	}{
		"its event":       {event("6"), 0},
		"an older event":  {event("5"), 6},
		"a bookmark":      {bookmark("6"), 0},
		"an old bookmark": {bookmark("5"), 6},
		"a list":          {list("6"), 0},
		"an old list":     {list("5"), 6},
		"a newer removal": {request("8", true), 8},
		"an old removal":  {request("5", true), 6},
		"a new object":    {request("7", false), 0},
		"an old object":   {request("5", false), 6},
	} {
		p := newProbe(byName)
		p.Observe(version("a", "", "6"), true)
		if err := tc.then(p); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := p.Tombstone("a"); got != tc.want {
			t.Errorf("%s: a tombstone of %d, want %d", name, got, tc.want)
		}
	}
	p := newProbe(byName)
	_ = p.ReflectorStore().Replace(nil, "6")
	p.Observe(version("a", "", "6"), true)
	if got := p.Tombstone("a"); got != 0 {
		t.Errorf("a removal that the watch has reported leaves a tombstone of %d", got)
	}
}

// TestRun holds that Run returns once the stored objects are known, follows later changes, asks for a
// list first, and fails if the server stops before.
func TestRun(t *testing.T) {
	w := watch.NewFakeWithChanSize(1, false)
	stored := &cache.ListWatch{
		ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			return &metav1.PartialObjectMetadataList{
				ListMeta: metav1.ListMeta{ResourceVersion: "5"}, Items: []metav1.PartialObjectMetadata{*version("a", "", "4")},
			}, nil
		},
		WatchFuncWithContext: func(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
			if options.SendInitialEvents != nil || options.ResourceVersion != "5" {
				t.Errorf("a watch with %+v", options)
			}
			return w, nil
		},
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	p := newProbe(byName)
	if err := p.Run(ended, "objects", &cache.ListWatch{}, &metav1.PartialObjectMetadata{}); err == nil ||
		!strings.Contains(err.Error(), "had read the objects") || p.HasSynced() {
		t.Errorf("the server has stopped: %v", err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	p = newProbe(byName)
	if err := p.Run(ctx, "objects", stored, &metav1.PartialObjectMetadata{}); err != nil {
		t.Fatal(err)
	}
	<-p.Synced()
	if got := p.held(); !slices.Equal(got, []string{"a@4"}) {
		t.Errorf("listed %v", got)
	}
	w.Delete(version("a", "", "6"))
	empty := func(context.Context) (bool, error) { return len(p.held()) == 0, nil }
	if err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, time.Minute, true, empty); err != nil {
		t.Errorf("the watch reported a removal: %v, %v", p.held(), err)
	}
}

// TestReadsAreFree holds that a read makes no allocation.
func TestReadsAreFree(t *testing.T) {
	p := newProbe(byUID)
	_ = p.ReflectorStore().Replace([]any{version("a", "u", "1")}, "1")
	if n := testing.AllocsPerRun(100, func() {
		p.lock.RLock()
		defer p.lock.RUnlock()
		if !p.HasSynced() || p.Get("u") == nil || p.Get("v") != nil || p.Tombstone("u") > 0 {
			t.Error("the object is not known")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
