// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// definitionsWith returns definitions whose root has many permissions.
func definitionsWith(many int) map[string]*spec.Schema {
	root := &spec.Schema{}
	for i := range many {
		property := spec.Schema{}
		property.AddExtension(ExtVerb, fmt.Sprint("p", i))
		root.SetProperty(fmt.Sprint("f", i), property)
	}
	return map[string]*spec.Schema{"root": root}
}

// TestArenaIsReset checks that an empty cache has nothing of the definitions of a former
// compilation, and that a large cache is dropped.
func TestArenaIsReset(t *testing.T) {
	for _, test := range []struct {
		permissions int
		again       bool
	}{{1, true}, {20, true}, {maxReusedArena / 4, true}, {maxReusedArena / 2, false}, {4 * maxReusedArena, false}} {
		t.Run(fmt.Sprint(test.permissions), func(t *testing.T) {
			definitions := definitionsWith(test.permissions)
			var k *compileCache
			// With the race detector, a sync.Pool drops some values.
			for range 20 {
				m := NewModels(definitions, WithSource(func() map[string]*spec.Schema { return definitions }))
				if _, err := m.Compile("root"); err != nil {
					t.Fatal(err)
				}
				if got, _ := m.interner.emptyCaches.Get().(*compileCache); got != nil {
					k = got
				}
			}
			if (k != nil) != test.again {
				t.Fatalf("the room is used again: %v", k != nil)
			}
			if k == nil {
				return
			}
			r := &k.survey.arena
			if len(r.copies) < test.permissions || cap(r.fields) < test.permissions {
				t.Errorf("room for %d and %d of %d", len(r.copies), cap(r.fields), test.permissions)
			}
			if k.models != nil || len(k.survey.scans)+len(k.survey.candidates)+len(k.entries)+len(k.verbs)+r.used+len(r.fields)+len(r.stack) > 0 {
				t.Errorf("something is known: %+v", k)
			}
			if slices.ContainsFunc(r.copies, func(s *spec.Schema) bool { return !reflect.ValueOf(*s).IsZero() }) ||
				slices.ContainsFunc(slices.Concat(r.fields[:cap(r.fields)], r.stack[:cap(r.stack)]), func(f field) bool { return f != (field{}) }) {
				t.Error("something is left")
			}
		})
	}
}

// TestHashesTellApart checks that different permissions and nodes have different hashes.
func TestHashesTellApart(t *testing.T) {
	s := NewInterner()
	above, leaf := &Permission{Name: "above"}, &Node{Field: "leaf"}
	permissions := map[uint64]bool{}
	for _, p := range []*Permission{
		{}, {Name: "a"}, {Name: "a", above: above}, {Name: "a", Parameter: &Parameter{Source: "k"}}, {Name: "a", Parameter: &Parameter{Source: "l"}},
		{Name: "a", Parameter: &Parameter{Source: "k", SourceDepth: 1}}, {Name: "b"},
	} {
		if hash := s.hashOfPermission(p); permissions[hash] {
			t.Errorf("%+v has the hash of another", p)
		} else {
			permissions[hash] = true
		}
	}
	holds := &Node{Field: "a"}
	holds.setBelow([]*Node{leaf})
	nodes := map[uint64]bool{}
	for _, n := range []*Node{
		{}, {Field: "a"}, {Field: "b"}, {Field: "a", last: above}, {Field: "a", Kind: Map}, holds,
		{Field: "a", extra: &extra{keys: []Key{{Name: "k"}}}}, {Field: "a", extra: &extra{keys: []Key{{Name: "l"}}}},
	} {
		if hash := s.hashOfNode(n); nodes[hash] {
			t.Errorf("%+v has the hash of another", n)
		} else {
			nodes[hash] = true
		}
	}
}

// TestLeavesTakeNoEntry checks that a permission refers to its leaf, so that leaves in several
// trees need no entry in the table.
func TestLeavesTakeNoEntry(t *testing.T) {
	s, definitions := NewInterner(), definitionsWith(20)
	for range 2 {
		if _, err := NewModels(definitions, WithInterner(s)).Compile("root"); err != nil {
			t.Fatal(err)
		}
	}
	// The root is interned in the second compilation, when nothing below it is new. Its metadata
	// is interned in each.
	if n := s.nodes.Used(); n != 2 {
		t.Errorf("%d entries of nodes", n)
	}
}
