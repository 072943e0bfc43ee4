// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/pkg/apis/authority"
	"kube-granular.dev/pkg/mirror/mirrortest"
)

func delegationAt(name, uid string, resourceVersion int) *v1alpha1.AuthorityDelegation {
	d := toBot()
	d.Name, d.UID, d.ResourceVersion = name, types.UID(uid), fmt.Sprint(resourceVersion)
	return d
}

func watched(name, uid string, resourceVersion int) *authority.AuthorityDelegation {
	return (*authority.AuthorityDelegation)(delegationAt(name, uid, resourceVersion))
}

// content returns what an index has: name, UID and version of each delegation, and the tombstones.
func (x *Index) content(t *testing.T) string {
	t.Helper()
	var out []string
	for d := range x.stored.All() {
		text := fmt.Sprintf("%s/%s@%d", d.Name, d.UID, d.version)
		if x.byName[d.Name] != d {
			text += "(older)"
		}
		out = append(out, text)
	}
	slices.Sort(out)
	if n := len(out); int(x.count.Load()) != n || x.Empty() != (n == 0) {
		t.Errorf("the index of %v counts %d", out, x.count.Load())
	}
	for _, uid := range []types.UID{"1", "2", "3"} {
		if version := x.stored.Tombstone(uid); version > 0 {
			out = append(out, fmt.Sprintf("-%s@%d", uid, version))
		}
	}
	return strings.Join(out, " ")
}

// TestObserve holds what the index has after changes that requests to this server and the watch
// report in any order: the newest version of each delegation, and none that was removed.
func TestObserve(t *testing.T) {
	type step = func(x *Index, watch cache.ReflectorStore) error
	stored := func(name, uid string, v int) step {
		return func(x *Index, _ cache.ReflectorStore) error { x.Observe(delegationAt(name, uid, v), false); return nil }
	}
	removed := func(name, uid string, v int) step {
		return func(x *Index, _ cache.ReflectorStore) error { x.Observe(delegationAt(name, uid, v), true); return nil }
	}
	added := func(name, uid string, v int) step {
		return func(_ *Index, watch cache.ReflectorStore) error { return watch.Add(watched(name, uid, v)) }
	}
	updated := func(name, uid string, v int) step {
		return func(_ *Index, watch cache.ReflectorStore) error { return watch.Update(watched(name, uid, v)) }
	}
	deleted := func(name, uid string, v int) step {
		return func(_ *Index, watch cache.ReflectorStore) error { return watch.Delete(watched(name, uid, v)) }
	}
	bookmark := func(v string) step {
		return func(_ *Index, watch cache.ReflectorStore) error {
			return watch.(interface{ Bookmark(string) error }).Bookmark(v)
		}
	}
	listed := func(v string, list ...any) step {
		return func(_ *Index, watch cache.ReflectorStore) error { return watch.Replace(list, v) }
	}
	for name, tc := range map[string]struct {
		steps []step
		want  string
	}{
		"stored":                              {[]step{stored("a", "1", 5)}, "a/1@5"},
		"stored, newer":                       {[]step{stored("a", "1", 5), stored("a", "1", 7)}, "a/1@7"},
		"stored, older":                       {[]step{stored("a", "1", 5), stored("a", "1", 4)}, "a/1@5"},
		"two":                                 {[]step{stored("a", "1", 5), stored("b", "2", 6)}, "a/1@5 b/2@6"},
		"removed":                             {[]step{stored("a", "1", 5), removed("a", "1", 6)}, "-1@6"},
		"removed, not known":                  {[]step{removed("a", "1", 6)}, "-1@6"},
		"removed, then seen late":             {[]step{stored("a", "1", 5), removed("a", "1", 6), added("a", "1", 5)}, "-1@6"},
		"removed, and the watch":              {[]step{stored("a", "1", 5), removed("a", "1", 6), deleted("a", "1", 6)}, ""},
		"removed, the watch, and a late read": {[]step{stored("a", "1", 5), removed("a", "1", 6), deleted("a", "1", 6), stored("a", "1", 5)}, ""},
		"made again":                          {[]step{stored("a", "1", 5), removed("a", "1", 6), stored("a", "2", 7)}, "a/2@7 -1@6"},
		"made again before the removal":       {[]step{stored("a", "1", 5), stored("a", "2", 7)}, "a/1@5(older) a/2@7"},
		"made again, in the other order":      {[]step{stored("a", "2", 7), stored("a", "1", 5)}, "a/1@5(older) a/2@7"},
		"then the older one goes":             {[]step{stored("a", "1", 5), stored("a", "2", 7), removed("a", "1", 6)}, "a/2@7 -1@6"},
		"then the newer one goes":             {[]step{stored("a", "1", 5), stored("a", "2", 7), removed("a", "2", 8)}, "a/1@5(older) -2@8"},
		"watched":                             {[]step{added("a", "1", 5), updated("a", "1", 6)}, "a/1@6"},
		"watched, and gone":                   {[]step{added("a", "1", 5), deleted("a", "1", 6)}, ""},
		"read, older than the watch":          {[]step{added("b", "2", 9), stored("a", "1", 9)}, "b/2@9"},
		"stored, newer than the watch":        {[]step{added("b", "2", 9), stored("a", "1", 10)}, "a/1@10 b/2@9"},
		"read, older than a bookmark":         {[]step{bookmark("9"), stored("a", "1", 9)}, ""},
		"newer than a bookmark":               {[]step{bookmark("9"), stored("a", "1", 10)}, "a/1@10"},
		"an older bookmark":                   {[]step{bookmark("9"), bookmark("3"), stored("a", "1", 5)}, ""},
		"read, older than a removal":          {[]step{deleted("b", "2", 9), stored("a", "1", 9)}, ""},
		"an older removal":                    {[]step{deleted("b", "2", 9), deleted("b", "3", 3), stored("a", "1", 5)}, ""},
		"an update of what is known":          {[]step{stored("a", "1", 5), bookmark("9"), stored("a", "1", 8)}, "a/1@8"},
		"listed":                              {[]step{listed("9", watched("a", "1", 5), watched("b", "2", 6))}, "a/1@5 b/2@6"},
		"listed, older than what is known":    {[]step{stored("a", "1", 7), listed("6", watched("a", "1", 5))}, "a/1@7"},
		"not listed any more":                 {[]step{stored("a", "1", 5), listed("9")}, ""},
		"not listed, at its very version":     {[]step{stored("a", "1", 9), listed("9")}, ""},
		"not listed yet":                      {[]step{stored("a", "1", 10), listed("9")}, "a/1@10"},
		"removed, listed before":              {[]step{removed("a", "1", 10), listed("9", watched("a", "1", 5))}, "-1@10"},
		"removed, listed after":               {[]step{removed("a", "1", 9), listed("9")}, ""},
		"read, older than a list":             {[]step{listed("9"), stored("a", "1", 9)}, ""},
		"an older list":                       {[]step{bookmark("9"), listed("3"), stored("a", "1", 5)}, ""},
	} {
		x := NewIndex()
		watch := x.ReflectorStore()
		for i, step := range tc.steps {
			if err := step(x, watch); err != nil {
				t.Errorf("%s, step %d: %v", name, i, err)
			}
		}
		if got := x.content(t); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}

	x := NewIndex()
	watch := x.ReflectorStore()
	if x.HasSynced() {
		t.Error("an index knows all before the first list")
	}
	for what, f := range map[string]func() error{
		"added":   func() error { return watch.Add("nothing") },
		"updated": func() error { return watch.Update("nothing") },
		"deleted": func() error { return watch.Delete("nothing") },
		"listed":  func() error { return watch.Replace([]any{"nothing"}, "1") },
	} {
		if err := f(); err == nil {
			t.Errorf("what is none was %s", what)
		}
	}
	if x.HasSynced() {
		t.Error("a refused list counts")
	}
	if err := watch.Replace(nil, "1"); err != nil {
		t.Error(err)
	}
	if !x.HasSynced() || x.content(t) != "" {
		t.Errorf("after an empty list: %v, %s", x.HasSynced(), x.content(t))
	}
}

// TestReports holds that the index has what every user of package mirror has, by name too.
func TestReports(t *testing.T) {
	mirrortest.Run(t, func() mirrortest.Index[*authority.AuthorityDelegation] {
		x := NewIndex()
		return mirrortest.Index[*authority.AuthorityDelegation]{
			New: func(name, version string) *authority.AuthorityDelegation {
				d := watched(name, "uid of "+name, 0)
				d.ResourceVersion = version
				return d
			},
			Observe:   func(d *authority.AuthorityDelegation, gone bool) { x.Observe((*v1alpha1.AuthorityDelegation)(d), gone) },
			Watch:     x.ReflectorStore(),
			HasSynced: x.HasSynced,
			Held: func() (held []string) {
				for name, d := range x.byName {
					held = append(held, fmt.Sprintf("%s@%d", name, d.version))
				}
				if n := int(x.count.Load()); n != len(held) {
					t.Errorf("%d delegations, %d of them by name", n, len(held))
				}
				return held
			},
		}
	})
}

// TestUsesStay holds that a newer version of a delegation keeps the last use that this server knows,
// and takes over a later one that another server wrote.
func TestUsesStay(t *testing.T) {
	idle := int64(600)
	used := func(d *v1alpha1.AuthorityDelegation, seconds int64) *v1alpha1.AuthorityDelegation {
		d.Spec.IdleSeconds, d.CreationTimestamp = &idle, metav1.Unix(1, 0)
		last := metav1.Unix(seconds, 0)
		d.Status.LastUsed = &last
		return d
	}
	x := NewIndex()
	x.Observe(used(delegationAt("a", "1", 1), 100), false)
	first := x.ByName("a")
	first.usage.record(metav1.Unix(200, 0).Time)
	for i, step := range []struct{ stored, used, written int64 }{{150, 200, 150}, {120, 200, 150}, {300, 300, 300}} {
		x.Observe(used(delegationAt("a", "1", 2+i), step.stored), false)
		now := x.ByName("a")
		if now.version != uint64(2+i) || now.usage != first.usage {
			t.Fatal("the new version does not share the uses")
		}
		if last, written := metav1.Unix(0, now.usage.lastUsed.Load()), metav1.Unix(0, now.usage.lastWritten.Load()); last.Unix() != step.used || written.Unix() != step.written {
			t.Errorf("stored %d: used %d, written %d", step.stored, last.Unix(), written.Unix())
		}
	}
}
