// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"fmt"
	"maps"
	"runtime"
	"strings"
	"sync"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"kube-granular.dev/granular/internal/testmodels"
	"kube-granular.dev/granular/schema"
)

// nodes returns the different nodes of trees.
func nodes(trees ...*schema.Tree) map[*schema.Node]bool {
	out := map[*schema.Node]bool{}
	for _, tree := range trees {
		for place := range tree.NodePaths() {
			out[place.Node()] = true
		}
	}
	return out
}

// TestShared checks that equal nodes are one node: within a tree, and among trees of the same and
// of other Models. Different nodes are never shared.
func TestShared(t *testing.T) {
	const text = `
one: {properties: {metadata: {$ref: "#/definitions/Meta"}, spec: {+verb: specification}, a: {$ref: "#/definitions/A"}, b: {$ref: "#/definitions/A"}}}
two: {properties: {metadata: {$ref: "#/definitions/Meta"}, spec: {+verb: specification, properties: {a: {$ref: "#/definitions/A"}}}}}
Meta: {+verb: metadata, properties: {labels: {+verb: labels, +parameter-source: k, additionalProperties: {+verb: label, +parameterized-by: k}}}}
A: {properties: {x: {+verb: x, properties: {z: {+verb: z}}}}}
`
	sharing := schema.NewInterner()
	first := schema.NewModels(definitionsOf(t, text), schema.WithInterner(sharing))
	one, err := first.Compile("one")
	if err != nil {
		t.Fatal(err)
	}
	two, err := schema.NewModels(definitionsOf(t, text), schema.WithInterner(sharing)).Compile("two")
	if err != nil {
		t.Fatal(err)
	}
	if one.Root.Child("metadata") != two.Root.Child("metadata") {
		t.Error("the metadata of two kinds are not shared")
	}
	if one.Root.Child("spec") == two.Root.Child("spec") {
		t.Error("specs that differ below are shared")
	}
	a, b := one.Root.Child("a"), one.Root.Child("b")
	if a.Child("x") != b.Child("x") {
		t.Error("one definition in two fields is not shared")
	}
	if a.Child("x") == two.Root.Child("spec").Child("a").Child("x") {
		t.Error("what is below other permissions is shared")
	}
	// A node with inline schemas of the root is interned only when it is compiled again.
	roots := map[*schema.Node]bool{one.Root: true}
	for range 5 {
		again, err := first.Compile("one")
		if err != nil {
			t.Fatal(err)
		}
		roots[again.Root] = true
	}
	if len(roots) != 2 {
		t.Errorf("the same definition, compiled again and again, gives %d trees", len(roots))
	}
}

// TestInternerForgets checks that an interner neither keeps nodes that no tree uses any more, nor
// entries for them.
func TestInternerForgets(t *testing.T) {
	sharing := schema.NewInterner()
	compile := func(i int) *schema.Tree {
		definitions := definitionsOf(t, fmt.Sprintf("root: {properties: {a%d: {+verb: a%d, properties: {b: {+verb: b}}}}}", i, i))
		tree, err := schema.NewModels(definitions, schema.WithInterner(sharing)).Compile("root")
		if err != nil {
			t.Fatal(err)
		}
		return tree
	}
	// Each compilation interns one more level of nodes, as long as the other trees are in use.
	trees := []*schema.Tree{compile(0), compile(0), compile(0)}
	kept := trees[2]
	for i := range 2000 {
		compile(i + 1)
		if i%100 == 0 {
			runtime.GC()
		}
	}
	// Each tree has five entries, and up to a hundred trees may be alive at a garbage collection.
	if size := sharing.Size(); size > 3000 {
		t.Errorf("%d entries for one tree", size)
	}
	if again := compile(0); again.Root != kept.Root {
		t.Error("a tree in use was forgotten")
	}
	runtime.KeepAlive(trees)
}

// TestInternerInParallel compiles in several goroutines, for the race detector.
func TestInternerInParallel(t *testing.T) {
	definitions, err := testmodels.Definitions()
	if err != nil {
		t.Fatal(err)
	}
	models := schema.NewModels(definitions)
	var done sync.WaitGroup
	// Nodes with inline schemas of the root may exist twice, in trees of different goroutines.
	found := make([]map[*schema.Node]bool, 8)
	for i := range found {
		done.Go(func() {
			found[i] = map[*schema.Node]bool{}
			for name := range definitions {
				if tree, err := models.Compile(name); err == nil && strings.HasPrefix(name, "io.k8s.api.") {
					for _, field := range tree.Root.Fields() {
						if field.Field == "metadata" || field.Field == "spec" {
							maps.Copy(found[i], nodes(&schema.Tree{Root: field}))
						}
					}
				}
			}
		})
	}
	done.Wait()
	for _, nodes := range found {
		if len(nodes) < 50 {
			t.Errorf("only %d nodes", len(nodes))
		}
		if !maps.Equal(nodes, found[0]) {
			t.Errorf("%d nodes, and %d", len(nodes), len(found[0]))
		}
	}
}

// TestInternerOfCustomResources checks that permissions of custom resources are shared with each
// other and with those of built-in kinds, and that each has one entry.
func TestInternerOfCustomResources(t *testing.T) {
	const text = `root: {properties: {spec: {+verb: specification, properties: {a: {+verb: example.com/a}}}}}`
	sharing := schema.NewInterner()
	compile := func(options ...schema.Option) *schema.Node {
		definitions := definitionsOf(t, text)
		tree, err := schema.NewModels(definitions, append(options, schema.WithInterner(sharing))...).Compile("root")
		if err != nil {
			t.Fatal(err)
		}
		return tree.Root.Child("spec").Child("a")
	}
	custom := schema.WithSource(func() map[string]*spec.Schema { return definitionsOf(t, text) })
	first, second, builtIn := compile(custom), compile(custom), compile()
	if first != second || second != builtIn {
		t.Errorf("%p, %p, %p", first, second, builtIn)
	}
	if n := sharing.Permissions(); n != 2 {
		t.Errorf("%d entries for two permissions", n)
	}
	if len(first.Chain()) != 2 {
		t.Errorf("%v", first.Chain())
	}
}
