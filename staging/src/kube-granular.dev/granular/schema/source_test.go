// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"weak"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"kube-granular.dev/granular/schema"
)

const passing = `
root: {properties: {a: {$ref: '#/definitions/A'}, again: {items: {$ref: '#/definitions/A'}}}}
A: {properties: {trigger: {type: boolean, default: false, +verb: trigger, +excluded: true}, m: {additionalProperties: {type: string}}}}
`

// collected reports whether the garbage collector frees a value.
func collected[T any](p weak.Pointer[T]) bool {
	for range 3 {
		runtime.GC()
	}
	return p.Value() == nil
}

// passed compiles a tree whose definitions come from a source. last returns one of the definitions
// that the source made last, and made counts the calls of the source.
func passed(t *testing.T) (tree *schema.Tree, last func() weak.Pointer[spec.Schema], made *atomic.Int32) {
	t.Helper()
	var current weak.Pointer[spec.Schema]
	made = &atomic.Int32{}
	source := func() map[string]*spec.Schema {
		definitions := definitionsOf(t, passing)
		current = weak.Make(definitions["A"])
		made.Add(1)
		return definitions
	}
	tree, err := schema.NewModels(source(), schema.WithSource(source)).Compile("root")
	if err != nil {
		t.Fatal(err)
	}
	return tree, func() weak.Pointer[spec.Schema] { return current }, made
}

// TestSourceKeepsNothing checks that a tree keeps no definition, and that cursors return the same
// whether or not the definitions are in memory.
func TestSourceKeepsNothing(t *testing.T) {
	tree, last, made := passed(t)
	same := func(when string) {
		t.Helper()
		a := tree.Schema().Field("again").Elem()
		trigger := a.Field("trigger")
		if !a.Known() || !a.Has("trigger") || a.Has("other") || !a.Field("m").IsKey("k") ||
			!trigger.OnlyDefaults(false, false) || trigger.OnlyDefaults(true, false) {
			t.Errorf("%s the schema says something else", when)
		}
	}
	node := tree.Root.Child("a").Child("trigger")
	for _, when := range []string{"from compilation", "made again", "made twice"} {
		same(when)
		same(when)
		if !collected(last()) {
			t.Fatalf("%s: the definitions are still there", when)
		}
		if !node.OnlyDefault(false, false) || node.OnlyDefault(true, false) {
			t.Errorf("%s: the default of an excluded field is lost", when)
		}
	}
	// Definitions that the garbage collector has not freed are used again.
	if n := made.Load(); n < 2 || n > 6 {
		t.Errorf("made %d times", n)
	}
	runtime.KeepAlive(tree)
}

// TestSourceServesAtOnce checks that callers that wait for definitions at the same time share
// them.
func TestSourceServesAtOnce(t *testing.T) {
	tree, last, made := passed(t)
	if !collected(last()) {
		t.Fatal("the definitions are still there")
	}
	held := tree.Schema()
	before := made.Load()
	var done sync.WaitGroup
	for range 8 {
		done.Go(func() {
			if !tree.Schema().Field("a").Has("trigger") {
				t.Error("the schema says something else")
			}
		})
	}
	done.Wait()
	if !held.Known() || made.Load() > before+2 { // the garbage collector may run in between
		t.Errorf("made %d times by eight", made.Load()-before)
	}
}

// TestSourceFails checks a source that returns no definitions, or not all. Messages then name
// fewer fields, and decisions are the same.
func TestSourceFails(t *testing.T) {
	for name, source := range map[string]func() map[string]*spec.Schema{
		"nothing":         func() map[string]*spec.Schema { return nil },
		"not the root":    func() map[string]*spec.Schema { return map[string]*spec.Schema{"A": {}} },
		"a nil root":      func() map[string]*spec.Schema { return map[string]*spec.Schema{"root": nil} },
		"a lost referral": func() map[string]*spec.Schema { return map[string]*spec.Schema{"root": spec.RefSchema("#/x")} },
	} {
		t.Run(name, func(t *testing.T) {
			definitions := definitionsOf(t, passing)
			gone := weak.Make(definitions["root"])
			tree, err := schema.NewModels(definitions, schema.WithSource(source)).Compile("root")
			if err != nil {
				t.Fatal(err)
			}
			definitions = nil
			if !collected(gone) {
				t.Fatal("the definitions are still there")
			}
			c := tree.Schema()
			if c.Has("a") || c.Field("a").Known() || c.Field("a").Field("trigger").OnlyDefaults(false, false) {
				t.Error("the schema knows what nobody said")
			}
			if n := tree.Root.Child("a").Child("trigger"); !n.OnlyDefault(false, false) || n.OnlyDefault(true, false) {
				t.Error("the default of an excluded field is lost")
			}
		})
	}
}
