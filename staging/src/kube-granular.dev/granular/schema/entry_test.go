// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	gvk "k8s.io/apimachinery/pkg/runtime/schema"

	"kube-granular.dev/granular/schema"
)

// withEntries compiles the definition root with entries at the field f of the definition A.
func withEntries(t *testing.T, text string, entries ...schema.Entry) (*schema.Tree, error) {
	t.Helper()
	all := definitionsOf(t, text)
	field := all["A"].Properties["f"]
	schema.SetEntries(&field, entries)
	all["A"].Properties["f"] = field
	return schema.Compile(all, "root")
}

// TestEntries checks where the permissions of entries stand in a tree, and that the scope that begins at a
// field is not mistaken for an entry.
func TestEntries(t *testing.T) {
	tree, err := withEntries(t, `
root: {properties: {a: {+scope: inner, $ref: '#/definitions/A'}, b: {$ref: '#/definitions/A'}}}
A: {properties: {f: {+verb: own, +scope: part, properties: {g: {+verb: g}}}}}
`, schema.Entry{Permission: "example.com/closed", Excluded: true}, schema.Entry{Permission: "example.com/named"})
	if err != nil {
		t.Fatal(err)
	}
	const want = `root (object)
  a (object) inner
    f (object) innerOwn part example.com/innerClosed excluded by entry example.com/innerNamed by entry
      g (leaf) partG
  b (object)
    f (object) own part example.com/closed excluded by entry example.com/named by entry
      g (leaf) partG
  metadata (object)
`
	if diff := cmp.Diff(want, tree.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if scope := tree.Root.Child("b").Child("f").Scope(); scope != "part" {
		t.Errorf("the scope is %q", scope)
	}
}

// TestEntriesRefused checks which entries are no permissions of a tree.
func TestEntriesRefused(t *testing.T) {
	const loop = "root: {properties: {a: {$ref: '#/definitions/A'}}}\nA: {properties: {f: {type: string}, next: {$ref: '#/definitions/A'}}}"
	const bare = "root: {properties: {a: {$ref: '#/definitions/A'}}}\nA: {properties: {f: {type: string}}}"
	scoped := strings.Replace(bare, "{$ref", "{+scope: aScopeOfAVeryLongNameAsNobodyWouldEverWriteIt, $ref", 1)
	var many []schema.Entry
	for i := range schema.MaxPermissionsOnPath + 1 {
		many = append(many, schema.Entry{Permission: fmt.Sprintf("example.com/p%d", i)})
	}
	long := schema.Entry{Permission: "example.com/" + strings.Repeat("a", 40)}
	for name, test := range map[string]struct {
		text    string
		entries []schema.Entry
		want    string
	}{
		"a name in a definition that refers to itself": {loop, []schema.Entry{{Permission: "example.com/a"}}, ""},
		"an exclusion there": {loop, []schema.Entry{{Permission: "example.com/a", Excluded: true}},
			"refers to itself and contains an excluded permission"},
		"a long name":             {bare, []schema.Entry{long}, ""},
		"too long with its scope": {scoped, []schema.Entry{long}, "with the prefix of its scope"},
		"as many as one path has": {bare, many[1:], ""},
		"more than one path has":  {bare, many, "permissions on one path"},
		"what an author writes as one": {strings.Replace(bare, "{$ref", "{x-kubernetes-permission-entries: [], $ref", 1), nil,
			"unknown extension"},
	} {
		_, err := withEntries(t, test.text, test.entries...)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

// TestCursorOfPaths checks what a cursor reports about the fields to which entries are added.
func TestCursorOfPaths(t *testing.T) {
	at := schema.NewModels(definitionsOf(t, `
root:
  properties:
    object: {type: object, properties: {f: {}, e: {}, d: {}, c: {}, b: {}, a: {}}}
    any: {}
    open: {type: object, x-kubernetes-preserve-unknown-fields: true}
    map: {type: object, additionalProperties: {properties: {value: {type: string}}}}
    list: {items: {type: string}}
    text: {type: string}
    refers: {allOf: [{$ref: '#/definitions/A'}]}
    excluded: {type: string, +verb: a, +excluded: true}
    included: {type: string, +verb: a, +excluded: false}
    malformed: {type: string, +verb: a, +excluded: 5}
    unknown: {type: string, +nonsense: a}
A: {type: object, properties: {c: {type: string}}}
`)).Cursor("root")
	type facts struct {
		Names, Definition      string
		Open, Object, Excludes bool
	}
	for field, want := range map[string]facts{
		"object":    {Names: "a b c d e f", Object: true},
		"any":       {Object: true},
		"open":      {Open: true, Object: true},
		"map":       {},
		"list":      {},
		"text":      {},
		"refers":    {Names: "c", Definition: "A", Object: true},
		"excluded":  {Excludes: true},
		"included":  {},
		"malformed": {Excludes: true},
		"unknown":   {Excludes: true},
	} {
		c := at.Field(field)
		got := facts{strings.Join(c.Names(), " "), c.Definition(), c.Open(), c.MayBeObject(), c.Excludes()}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", field, diff)
		}
	}
	if names := at.Field("map").Values().Names(); !cmp.Equal(names, []string{"value"}) {
		t.Errorf("the values of the map have the fields %q", names)
	}
	if (schema.Cursor{}).Values().Known() {
		t.Error("nothing has values")
	}
}

// TestDefinitionOfKind checks that a kind has exactly one definition.
func TestDefinitionOfKind(t *testing.T) {
	models := schema.NewModels(definitions(t, `
one: {x-kubernetes-group-version-kind: [{group: g, version: v1, kind: One}]}
two: {x-kubernetes-group-version-kind: [{group: g, version: v1, kind: Two}]}
again: {x-kubernetes-group-version-kind: [{group: g, version: v1, kind: Two}]}
`))
	kind := func(name string) gvk.GroupVersionKind {
		return gvk.GroupVersionKind{Group: "g", Version: "v1", Kind: name}
	}
	if name, err := models.Definition(kind("One")); name != "one" || err != nil {
		t.Errorf("One: %q, %v", name, err)
	}
	if _, err := models.Definition(kind("None")); !errors.Is(err, schema.ErrNoDefinition) {
		t.Errorf("None: %v", err)
	}
	if _, err := models.Definition(kind("Two")); err == nil || errors.Is(err, schema.ErrNoDefinition) {
		t.Errorf("Two: %v", err)
	}
}
