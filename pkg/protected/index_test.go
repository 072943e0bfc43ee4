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
)

func unknown(string) *metav1.ObjectMeta { return nil }

// TestObserve holds that a change is in the set when its hook returns, and that what the
// watch tells later of an older version changes nothing.
func TestObserve(t *testing.T) {
	x := NewIndex(unknown)
	w := reflectorStore{x, namespaced}
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

	x.Observe(change(attribute("n", "a", "old", 11), false))
	says("created", "old")
	x.Observe(change(attribute("n", "a", "new", 13), false))
	says("updated", "new")
	try(w.Add(attribute("n", "a", "old", 11)))
	w.UpdateResourceVersion("11")
	says("the watch tells of the creation", "new")

	x.Observe(change(attribute("n", "a", "new", 15), true))
	says("deleted")
	try(w.Update(attribute("n", "a", "new", 13)))
	w.UpdateResourceVersion("13")
	says("the watch tells of the update")
	x.Observe(change(attribute("n", "a", "new", 14), false))
	says("a hook is late")
	try(w.Delete(attribute("n", "a", "new", 15)))
	w.UpdateResourceVersion("15")
	says("the watch tells of the removal")
	x.Observe(change(attribute("n", "a", "new", 14), false))
	says("a hook is very late")

	x.Observe(change(attribute("n", "a", "new", 17), false))
	says("created anew", "new")
	try(w.Add(attribute("n", "a", "old", 19)))
	w.UpdateResourceVersion("19")
	says("somebody else's change", "old")
}

// TestReplace holds that a list after a broken watch takes the place of all that the watch
// had told, and that what hooks told beyond the list stays.
func TestReplace(t *testing.T) {
	x := NewIndex(unknown)
	w := reflectorStore{x, namespaced}
	if err := w.Replace([]any{attribute("n", "gone", "gone", 3), attribute("n", "kept", "kept", 4)}, "10"); err != nil {
		t.Fatal(err)
	}
	x.Observe(change(attribute("n", "hooked", "hooked", 21), false))
	x.Observe(change(attribute("n", "removed", "removed", 22), true))
	x.Observe(change(attribute("n", "early", "early", 12), false))
	// The list is of version 15: "early" was removed by somebody else before it.
	if err := w.Replace([]any{attribute("n", "kept", "kept", 4), attribute("n", "removed", "removed", 14)}, "15"); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]bool{"gone": false, "kept": true, "hooked": true, "removed": false, "early": false} {
		if got := wanted(x.Set(), "n", key); got != want {
			t.Errorf("the key %s is protected: %t", key, got)
		}
	}
	// The tombstone is forgotten once the watch has passed it, and no sooner.
	w.UpdateResourceVersion("21")
	if n := len(x.kinds[namespaced].tombstones); n != 1 {
		t.Errorf("%d tombstones before their version is passed", n)
	}
	w.UpdateResourceVersion("22")
	if n := len(x.kinds[namespaced].tombstones); n != 0 {
		t.Errorf("%d tombstones after their version is passed", n)
	}
	// Storage was set back to an earlier state: what the watch had passed is gone.
	if err := w.Replace([]any{attribute("n", "kept", "kept", 4)}, "5"); err != nil {
		t.Fatal(err)
	}
	if wanted(x.Set(), "n", "hooked") || !wanted(x.Set(), "n", "kept") {
		t.Error("the set has what an earlier watch told")
	}
}

// TestKinds holds that both kinds are told apart, by their names as well.
func TestKinds(t *testing.T) {
	x := NewIndex(unknown)
	if x.Listed() {
		t.Error("nothing was listed")
	}
	if err := (reflectorStore{x, namespaced}).Replace([]any{attribute("n", "a", "here", 1)}, "5"); err != nil {
		t.Fatal(err)
	}
	if x.Listed() {
		t.Error("one kind was listed")
	}
	if err := (reflectorStore{x, cluster}).Replace([]any{attribute("", "a", "everywhere", 2)}, "6"); err != nil {
		t.Fatal(err)
	}
	if !x.Listed() {
		t.Error("both kinds were listed")
	}
	x.Observe(change(attribute("", "a", "everywhere", 7), true))
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

// TestNamespaces holds that an attribute of a namespace that is gone has no effect in
// another of its name, and that it has effect wherever that is not certain.
func TestNamespaces(t *testing.T) {
	at := func(second int) time.Time { return time.Unix(int64(1000+second), 0) }
	namespaces := map[string]*metav1.ObjectMeta{}
	x := NewIndex(func(name string) *metav1.ObjectMeta { return namespaces[name] })
	if err := (reflectorStore{x, namespaced}).Replace([]any{
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
		// The second namespace was made, and this server's informer still has the first.
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

// TestSameSet holds that the set stays the same where nothing in force changes: a status
// that is written, a watch that tells what a hook told, a namespace that is updated.
func TestSameSet(t *testing.T) {
	x := NewIndex(unknown)
	w := reflectorStore{x, namespaced}
	x.Observe(change(attribute("n", "a", "a", 3), false))
	before := x.Set()
	if err := w.Add(attribute("n", "a", "a", 3)); err != nil {
		t.Fatal(err)
	}
	status := attribute("n", "a", "a", 4)
	_, _, of := status.Parts()
	of.HolderCount = 7
	x.Observe(change(status, false))
	x.NamespaceChanged("n")
	if x.Set() != before {
		t.Error("the set was made anew")
	}
	x.Observe(change(attribute("n", "a", "b", 5), false))
	if x.Set() == before {
		t.Error("the set was not made anew")
	}
}

// TestAnyOrder holds an index to an oracle, over random histories of storage of which the
// watch tells in order and late, hooks in any order, some of them never, and lists in
// between: of every attribute the state is that of the later of what the watch has passed
// and what a hook told last.
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
		w := reflectorStore{x, namespaced}
		// history[v-1] is the change of version v.
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
		// at returns the version that an attribute has at a version, 0 if there is none.
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
				// A hook that the watch has overtaken says nothing.
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
				w.UpdateResourceVersion(fmt.Sprint(passed))
			default:
				v := 1 + random.Intn(len(history))
				steps = append(steps, fmt.Sprint("hook ", v))
				e := history[v-1]
				x.Observe(change(attribute("n", e.name, e.key, v), e.gone))
				told[e.name] = max(told[e.name], v)
			}
			check()
		}
		if n := len(x.kinds[namespaced].tombstones); n != 0 {
			t.Fatalf("seed %d: %d tombstones at the end", seed, n)
		}
	}
}
