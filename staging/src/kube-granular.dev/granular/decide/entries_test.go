// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
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
