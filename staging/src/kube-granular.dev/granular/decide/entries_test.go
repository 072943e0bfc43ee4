// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/schema"
)

// enteredTree returns the tree of a schema whose spec has four fields, each with a field "inner" that has the
// permission inner: closed is excluded by an entry, named has an entry that update includes, authored is excluded
// by the author, and open has no permission of its own.
func enteredTree(t *testing.T) *schema.Tree {
	t.Helper()
	field := func(extensions map[string]any, entries ...schema.Entry) spec.Schema {
		inner := spec.Schema{}
		inner.AddExtension("x-kubernetes-permission-verb", "inner")
		out := spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"object"}, Properties: map[string]spec.Schema{"inner": inner}}}
		for name, value := range extensions {
			out.AddExtension(name, value)
		}
		if entries != nil {
			schema.SetEntries(&out, entries)
		}
		return out
	}
	all := spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"object"}, Properties: map[string]spec.Schema{
		"closed":   field(nil, schema.Entry{Permission: "acme.io/closed", Excluded: true}),
		"named":    field(nil, schema.Entry{Permission: "acme.io/named"}),
		"authored": field(map[string]any{"x-kubernetes-permission-verb": "authored", "x-kubernetes-permission-excluded": true}),
		"open":     field(nil),
	}}}
	all.AddExtension("x-kubernetes-permission-verb", "specification")
	root := &spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"object"}, Properties: map[string]spec.Schema{"spec": all}}}
	tree, err := schema.NewModels(map[string]*spec.Schema{"thing": root}).Compile("thing")
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// TestEntries checks who may change a field that an entry names or excludes, what is inside it, and what is open to
// callers that are exempt from entries.
func TestEntries(t *testing.T) {
	walker := change.NewWalker(enteredTree(t))
	for name, tc := range map[string]struct {
		field string
		// marked is set for a caller without the ordinary verb, and exempt for one that ignores entries.
		marked, exempt bool
		holds          []string
		allowed        bool
		// byEntry is what a refusal says.
		byEntry bool
	}{
		"update, a field that an entry excludes":         {field: "closed", byEntry: true},
		"its verb":                                       {field: "closed", holds: []string{"granular:acme.io/closed"}, allowed: true},
		"the verb of what is inside":                     {field: "closed", holds: []string{"granular:inner"}, byEntry: true},
		"exempt":                                         {field: "closed", exempt: true, allowed: true},
		"exempt, without update":                         {field: "closed", exempt: true, marked: true},
		"exempt, without update, a general verb":         {field: "closed", exempt: true, marked: true, holds: []string{"granular:specification"}, allowed: true},
		"granular, a general verb":                       {field: "closed", marked: true, holds: []string{"granular:specification"}, byEntry: true},
		"update, a field with a name":                    {field: "named", allowed: true},
		"granular, the name":                             {field: "named", marked: true, holds: []string{"granular:acme.io/named"}, allowed: true},
		"granular, the name, exempt":                     {field: "named", marked: true, exempt: true, holds: []string{"granular:acme.io/named"}, allowed: true},
		"granular, the verb of what is inside a name":    {field: "named", marked: true, holds: []string{"granular:inner"}, allowed: true},
		"granular, no verb of a name":                    {field: "named", marked: true},
		"update, a field that the author excludes":       {field: "authored"},
		"exempt from entries, not from the author":       {field: "authored", exempt: true},
		"the verb of what is inside the author's":        {field: "authored", holds: []string{"granular:inner"}, allowed: true},
		"the author's verb":                              {field: "authored", holds: []string{"granular:authored"}, allowed: true},
		"granular, a field without entries, no verb":     {field: "open", marked: true},
		"granular, a field without entries, its own one": {field: "open", marked: true, holds: []string{"granular:inner"}, allowed: true},
	} {
		t.Run(name, func(t *testing.T) {
			written := func(value string) object { return object{"spec": object{tc.field: object{"inner": value}}} }
			set, err := walker.Compare(change.All, written("a"), written("b"))
			if err != nil || len(set) != 1 {
				t.Fatal(set, err)
			}
			d := New(&holder{t: t, holds: tc.holds}, 0)
			if tc.exempt {
				d.IgnoreEntries(false)
			}
			refusal, err := d.Decide(t.Context(), set, tc.marked)
			if err != nil || (refusal == nil) != tc.allowed {
				t.Fatalf("%v, %v; want allowed %t", refusal, err, tc.allowed)
			}
			if refusal != nil && refusal.ByEntry() != tc.byEntry {
				t.Errorf("by an entry: %t", refusal.ByEntry())
			}
		})
	}
}

// TestCandidatesOfEntries checks the permissions of which one suffices, at a field and inside it.
func TestCandidatesOfEntries(t *testing.T) {
	tree := enteredTree(t)
	for field, want := range map[string][]string{
		"closed":   {"acme.io/closed"},
		"named":    {"specification", "acme.io/named", "inner"},
		"authored": {"authored", "inner"},
		"open":     {"specification", "inner"},
	} {
		candidates, excluded := Candidates(tree.Nearest([]schema.Step{{Field: "spec"}, {Field: field}, {Field: "inner"}}))
		var names []string
		for _, p := range candidates {
			names = append(names, p.Name)
		}
		if diff := cmp.Diff(want, names); diff != "" || excluded != (field == "closed" || field == "authored") {
			t.Errorf("%s: excluded %t %s", field, excluded, diff)
		}
	}
}

// TestEntriesOfTwoKinds checks that a field which an entry of the kind and an embedded one exclude needs a verb of each, and
// that to be exempt from one is not to be exempt from the other. An oracle decides for each set of verbs.
func TestEntriesOfTwoKinds(t *testing.T) {
	field := func(entries ...schema.Entry) spec.Schema {
		out := spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"object"}, Properties: map[string]spec.Schema{
			"inner": {VendorExtensible: spec.VendorExtensible{Extensions: spec.Extensions{schema.ExtVerb: "inner"}}, SchemaProps: spec.SchemaProps{Type: []string{"string"}}}}}}
		schema.SetEntries(&out, entries)
		return out
	}
	around := field(schema.Entry{Permission: "acme.io/around", Excluded: true})
	around.Properties["below"] = field(schema.Entry{Permission: "acme.io/pods", Excluded: true, Embedded: true})
	root := &spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"object"}, Properties: map[string]spec.Schema{
		"both":   field(schema.Entry{Permission: "acme.io/own", Excluded: true}, schema.Entry{Permission: "acme.io/pods", Excluded: true, Embedded: true}),
		"same":   field(schema.Entry{Permission: "acme.io/own", Excluded: true}, schema.Entry{Permission: "acme.io/own", Excluded: true, Embedded: true}),
		"pods":   field(schema.Entry{Permission: "acme.io/pods", Excluded: true, Embedded: true}, schema.Entry{Permission: "acme.io/own"}),
		"around": around,
	}}}
	tree, err := schema.Compile(map[string]*spec.Schema{"thing": root}, "thing")
	if err != nil {
		t.Fatal(err)
	}
	walker := change.NewWalker(tree)
	own, pods, outer, inner := "granular:acme.io/own", "granular:acme.io/pods", "granular:acme.io/around", "granular:inner"
	for field, tc := range map[string]struct {
		value object
		// needed are the verbs of which one is needed: first those of the kind, then the embedded ones.
		needed [2]string
		alone  []string
	}{
		"both":   {object{"both": object{"inner": "b"}}, [2]string{own, pods}, nil},
		"same":   {object{"same": object{"inner": "b"}}, [2]string{own, own}, []string{"acme.io/own"}},
		"pods":   {object{"pods": object{"inner": "b"}}, [2]string{"", pods}, []string{"acme.io/pods"}},
		"around": {object{"around": object{"below": object{"inner": "b"}}}, [2]string{outer, pods}, nil},
	} {
		set, err := walker.Compare(change.All, object{}, tc.value)
		if err != nil || len(set) != 1 {
			t.Fatal(set, err)
		}
		if candidates, excluded := Candidates(set[0].Node); !excluded || len(candidates) != len(tc.alone) || len(candidates) > 0 && candidates[0].Name != tc.alone[0] {
			t.Errorf("%s: %d candidates", field, len(candidates))
		}
		verbs := []string{own, pods, outer, inner}
		for bits := range 1 << (len(verbs) + 3) {
			var holds []string
			for i, v := range verbs {
				if bits>>i&1 == 1 {
					holds = append(holds, v)
				}
			}
			exempt := [2]bool{bits>>len(verbs)&1 == 1, bits>>(len(verbs)+1)&1 == 1}
			marked := bits>>(len(verbs)+2)&1 == 1
			want, left := true, false
			for i, v := range tc.needed {
				if v != "" && !exempt[i] {
					left = true
					want = want && slices.Contains(holds, v)
				}
			}
			if marked && !left { // then it is like any other field without update
				continue
			}
			d := New(&holder{t: t, holds: holds}, 0)
			for i := range exempt {
				if exempt[i] {
					d.IgnoreEntries(i == 1)
				}
			}
			refusal, err := d.Decide(t.Context(), set, marked)
			if err != nil || (refusal == nil) != want {
				t.Fatalf("%s, holds %q, exempt %v, marked %t: %v, %v", field, holds, exempt, marked, refusal, err)
			}
			if refusal != nil {
				first := tc.needed[0] == "" || exempt[0] || slices.Contains(holds, tc.needed[0])
				if !refusal.ByEntry() || refusal.Embedded() != first || !strings.Contains(refusal.Needs(), tc.needed[sortOf(first)]) {
					t.Errorf("%s, holds %q, exempt %v: by entry %t, embedded %t, %s", field, holds, exempt, refusal.ByEntry(), refusal.Embedded(), refusal.Needs())
				}
			}
		}
	}
}
