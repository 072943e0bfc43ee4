// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package protected

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube-granular.dev/granular/protect"
	"kube-granular.dev/pkg/apis/authority"
	"kube-granular.dev/pkg/mirror/mirrortest"
)

func unknown(string) *metav1.ObjectMeta { return nil }

// TestReports holds that the index of each kind has what every user of package mirror has, and that the
// set has the same.
func TestReports(t *testing.T) {
	for kind, namespace := range [...]string{namespaced: "n", cluster: ""} {
		mirrortest.Run(t, func() mirrortest.Index[authority.Attribute] {
			x := NewIndex(unknown)
			return mirrortest.Index[authority.Attribute]{
				New: func(name, version string) authority.Attribute {
					a := attribute(namespace, name, name, 0)
					a.SetResourceVersion(version)
					return a
				},
				Observe: x.Observe, Watch: x.kinds[kind].ReflectorStore(), HasSynced: x.kinds[kind].HasSynced,
				Held: func() (held []string) {
					for _, a := range x.Attributes() {
						if a.InForce && wanted(x.Set(), namespace, a.GetName()) {
							held = append(held, a.GetName()+"@"+a.GetResourceVersion())
						}
					}
					for _, name := range []string{"a", "b", "c", "d"} {
						known := slices.ContainsFunc(held, func(text string) bool { return strings.HasPrefix(text, name) })
						if wanted(x.Set(), namespace, name) != known {
							t.Errorf("the set has %s: %t, the index has %v", name, !known, held)
						}
					}
					return held
				},
			}
		})
	}
}

// TestKept holds that the index keeps a copy of what a request has stored, whose object goes on to the
// client, and nothing of what is gone.
func TestKept(t *testing.T) {
	x := NewIndex(unknown)
	a := attribute("n", "a", "a", 1)
	x.Observe(a, false)
	a.SetName("changed")
	if kept := x.Attributes(); len(kept) != 1 || kept[0].GetName() != "a" {
		t.Errorf("kept %v", kept)
	}
	x.Observe(attribute("n", "a", "a", 2), true)
	if len(x.byNamespace) != 0 {
		t.Errorf("of namespaces without attributes %v is kept", x.byNamespace)
	}
}

// TestObserve holds that a change is in the set when its hook returns, and that an older version
// which the watch reports later changes nothing.
func TestObserve(t *testing.T) {
	x := NewIndex(unknown)
	w := x.kinds[namespaced].ReflectorStore()
	says := func(step string, keys ...string) {
		t.Helper()
		for _, key := range []string{"old", "new"} {
			if got := wanted(x.Set(), "n", key); got != slices.Contains(keys, key) {
				t.Errorf("%s: the key %s is protected: %t", step, key, got)
			}
		}
	}
	try := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	try(w.Replace(nil, "10"))
	says("nothing is stored")

	x.Observe(attribute("n", "a", "old", 11), false)
	says("created", "old")
	x.Observe(attribute("n", "a", "new", 13), false)
	says("updated", "new")
	try(w.Add(attribute("n", "a", "old", 11)))
	reach(t, w, "11")
	says("the watch tells of the creation", "new")

	x.Observe(attribute("n", "a", "new", 15), true)
	says("deleted")
	try(w.Update(attribute("n", "a", "new", 13)))
	reach(t, w, "13")
	says("the watch tells of the update")
	x.Observe(attribute("n", "a", "new", 14), false)
	says("a hook is late")
	try(w.Delete(attribute("n", "a", "new", 15)))
	reach(t, w, "15")
	says("the watch tells of the removal")
	x.Observe(attribute("n", "a", "new", 14), false)
	says("a hook is very late")

	x.Observe(attribute("n", "a", "new", 17), false)
	says("created anew", "new")
	try(w.Add(attribute("n", "a", "old", 19)))
	reach(t, w, "19")
	says("somebody else's change", "old")
}

// TestReplace holds that a list after a broken watch replaces everything that the watch had
// reported, and that newer changes which hooks reported stay.
func TestReplace(t *testing.T) {
	x := NewIndex(unknown)
	w := x.kinds[namespaced].ReflectorStore()
	if err := w.Replace([]any{attribute("n", "gone", "gone", 3), attribute("n", "kept", "kept", 4)}, "10"); err != nil {
		t.Fatal(err)
	}
	x.Observe(attribute("n", "hooked", "hooked", 21), false)
	x.Observe(attribute("n", "removed", "removed", 22), true)
	x.Observe(attribute("n", "early", "early", 12), false)
	// The list has version 15. Another server removed the attribute "early" before that version.
	if err := w.Replace([]any{attribute("n", "kept", "kept", 4), attribute("n", "removed", "removed", 14)}, "15"); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]bool{"gone": false, "kept": true, "hooked": true, "removed": false, "early": false} {
		if got := wanted(x.Set(), "n", key); got != want {
			t.Errorf("the key %s is protected: %t", key, got)
		}
	}
	// The tombstone is removed once the watch has passed its version, and not before.
	reach(t, w, "21")
	if n := x.tombstones("n", "removed"); n != 1 {
		t.Errorf("%d tombstones before their version is passed", n)
	}
	reach(t, w, "22")
	if n := x.tombstones("n", "removed"); n != 0 {
		t.Errorf("%d tombstones after their version is passed", n)
	}
	// Storage was restored to an earlier state, so what the watch had reported is gone.
	if err := w.Replace([]any{attribute("n", "kept", "kept", 4)}, "5"); err != nil {
		t.Fatal(err)
	}
	if wanted(x.Set(), "n", "hooked") || !wanted(x.Set(), "n", "kept") {
		t.Error("the set has an attribute that only the earlier watch reported")
	}
}

// TestKinds holds that the index keeps both kinds of attributes apart, even if their names are
// equal.
func TestKinds(t *testing.T) {
	x := NewIndex(unknown)
	if x.listed() {
		t.Error("nothing was listed")
	}
	if err := x.kinds[namespaced].ReflectorStore().Replace([]any{attribute("n", "a", "here", 1)}, "5"); err != nil {
		t.Fatal(err)
	}
	if x.listed() {
		t.Error("one kind was listed")
	}
	if err := x.kinds[cluster].ReflectorStore().Replace([]any{attribute("", "a", "everywhere", 2)}, "6"); err != nil {
		t.Fatal(err)
	}
	if !x.listed() {
		t.Error("both kinds were listed")
	}
	x.Observe(attribute("", "a", "everywhere", 7), true)
	for _, tc := range []struct {
		namespace, key string
		want           bool
	}{{"n", "here", true}, {"m", "here", false}, {"", "here", false}, {"n", "everywhere", false},
		{"", "everywhere", false}} {
		if got := wanted(x.Set(), tc.namespace, tc.key); got != tc.want {
			t.Errorf("the key %s is protected in %q: %t", tc.key, tc.namespace, got)
		}
	}
}

// TestNamespaces holds that an attribute of a deleted namespace has no effect in another
// namespace of the same name, and that it has an effect if it is not certain which namespace it
// belongs to.
func TestNamespaces(t *testing.T) {
	at := func(second int) time.Time { return time.Unix(int64(1000+second), 0) }
	namespaces := map[string]*metav1.ObjectMeta{}
	x := NewIndex(func(name string) *metav1.ObjectMeta { return namespaces[name] })
	if err := x.kinds[namespaced].ReflectorStore().Replace([]any{
		madeIn(attribute("n", "first", "first", 1), "first", at(1)),
		madeIn(attribute("n", "second", "second", 2), "second", at(5)),
		madeIn(attribute("n", "none", "none", 2), "", at(1)),
	}, "5"); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		step  string
		is    *metav1.ObjectMeta
		wants []string
	}{
		{"the namespace is not known", nil, []string{"first", "second", "none"}},
		// The namespace was deleted and created again, but this server's informer still has the
		// first one.
		{"the informer is behind", &metav1.ObjectMeta{UID: "first", CreationTimestamp: metav1.NewTime(at(0))},
			[]string{"first", "second", "none"}},
		{"the informer has come", &metav1.ObjectMeta{UID: "second", CreationTimestamp: metav1.NewTime(at(4))},
			[]string{"second", "none"}},
		{"made within a second", &metav1.ObjectMeta{UID: "third", CreationTimestamp: metav1.NewTime(at(5))},
			[]string{"second", "none"}},
		{"a third one", &metav1.ObjectMeta{UID: "third", CreationTimestamp: metav1.NewTime(at(9))}, []string{"none"}},
		{"it is gone", nil, []string{"first", "second", "none"}},
	} {
		namespaces["n"] = tc.is
		x.NamespaceChanged("n")
		for _, key := range []string{"first", "second", "none"} {
			if got := wanted(x.Set(), "n", key); got != slices.Contains(tc.wants, key) {
				t.Errorf("%s: the key %s is protected: %t", tc.step, key, got)
			}
		}
	}
}

// TestSameSet holds that the set is not rebuilt if nothing in force changes: when a status is
// written, when the watch reports a change that a hook has reported before, or when a namespace
// is updated.
func TestSameSet(t *testing.T) {
	x := NewIndex(unknown)
	w := x.kinds[namespaced].ReflectorStore()
	x.Observe(attribute("n", "a", "a", 3), false)
	before := x.Set()
	if err := w.Add(attribute("n", "a", "a", 3)); err != nil {
		t.Fatal(err)
	}
	status := attribute("n", "a", "a", 4)
	_, _, of := status.Parts()
	of.HolderCount = 7
	x.Observe(status, false)
	x.NamespaceChanged("n")
	if x.Set() != before {
		t.Error("the set was rebuilt, though nothing in force has changed")
	}
	x.Observe(attribute("n", "a", "b", 5), false)
	if x.Set() == before {
		t.Error("the set was not rebuilt after a change")
	}
}

// TestAnyOrder compares an index with a model, over random histories of storage. The watch
// reports the changes in order but late. Hooks report them in any order, or never. Lists come in
// between. The state of each attribute must be the newer of two: the one at the version that the
// watch has passed, and the last one that a hook reported.
//
// Attack: a late hook, a late watch, a list of an earlier state
// Answer: the newest change of each attribute counts, in any order
func TestAnyOrder(t *testing.T) {
	type event struct {
		name, key string
		gone      bool
	}
	names, keys := []string{"a", "b", "c"}, []string{"x", "y", "z"}
	for seed := range int64(10000) {
		random := rand.New(rand.NewSource(seed))
		x := NewIndex(unknown)
		w := x.kinds[namespaced].ReflectorStore()
		// history[v-1] is the change that has the resource version v.
		var history []event
		there := map[string]bool{}
		for range 4 + random.Intn(16) {
			e := event{name: names[random.Intn(len(names))], key: keys[random.Intn(len(keys))]}
			e.gone = there[e.name] && random.Intn(3) == 0
			there[e.name] = !e.gone
			history = append(history, e)
		}
		object := func(version int) any {
			e := history[version-1]
			return attribute("n", e.name, e.key, version)
		}
		// at returns the resource version that an attribute had when storage was at the given
		// version, or 0 if the attribute did not exist then.
		at := func(name string, version int) int {
			for ; version > 0; version-- {
				if history[version-1].name == name {
					if history[version-1].gone {
						return 0
					}
					return version
				}
			}
			return 0
		}
		passed, told := 0, map[string]int{}
		var steps []string
		check := func() {
			t.Helper()
			var want []protect.Entry
			for _, name := range names {
				// A hook whose version the watch has passed has no effect.
				if v := at(name, max(passed, told[name])); v > 0 {
					want = append(want, protect.Entry{Name: name, Key: history[v-1].key})
				}
			}
			var got []protect.Entry
			for _, e := range x.entries("n") {
				got = append(got, protect.Entry{Name: e.Name, Key: e.Key})
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("seed %d, history %v: %s: the index has %v, wanted %v", seed, history, strings.Join(steps, ", "), got, want)
			}
			for _, key := range keys {
				in := slices.ContainsFunc(want, func(e protect.Entry) bool { return e.Key == key })
				if wanted(x.Set(), "n", key) != in {
					t.Fatalf("seed %d, history %v: %s: the set has the key %s: %t", seed, history, strings.Join(steps, ", "), key, !in)
				}
			}
		}
		list := func(version int) {
			steps = append(steps, fmt.Sprint("list ", version))
			var all []any
			for _, name := range names {
				if v := at(name, version); v > 0 {
					all = append(all, object(v))
				}
			}
			if err := w.Replace(all, fmt.Sprint(version)); err != nil {
				t.Fatal(err)
			}
			passed = version
		}
		for passed < len(history) {
			switch random.Intn(8) {
			case 0:
				list(passed + random.Intn(len(history)-passed+1))
			case 1, 2, 3:
				passed++
				steps = append(steps, fmt.Sprint("watch ", passed))
				var err error
				if history[passed-1].gone {
					err = w.Delete(object(passed))
				} else {
					err = w.Update(object(passed))
				}
				if err != nil {
					t.Fatal(err)
				}
				reach(t, w, fmt.Sprint(passed))
			default:
				v := 1 + random.Intn(len(history))
				steps = append(steps, fmt.Sprint("hook ", v))
				e := history[v-1]
				x.Observe(attribute("n", e.name, e.key, v), e.gone)
				told[e.name] = max(told[e.name], v)
			}
			check()
		}
		if n := x.tombstones("n", names...); n != 0 {
			t.Fatalf("seed %d: %d tombstones at the end", seed, n)
		}
	}
}
