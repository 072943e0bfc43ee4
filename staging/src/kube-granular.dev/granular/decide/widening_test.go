// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"kube-granular.dev/granular/schema"
)

// safe is a schema with excluded fields. Tests replace parts of it.
const safe = `
properties:
  spec:
    type: object
    +verb: specification
    properties:
      doors:
        type: array
        +list: map
        +keys: [name, side]
        items:
          type: object
          properties:
            name: {type: string, +parameter-source: door}
            side: {type: string, +parameter-source: side}
            guard: {type: string, +verb: guard, +excluded: true, +parameterized-by: door}
      marks:
        type: array
        items:
          type: object
          +verb: mark
          +excluded: true
          +parameterized-by: self.key
          properties: {key: {type: string}, other: {type: string}}
      mode: {type: string, +verb: mode, +excluded: true}
      pools:
        type: object
        +parameter-source: pool
        additionalProperties:
          type: object
          additionalProperties:
            type: string
            +verb: pool
            +excluded: true
            +parameterized-by: pool
            +parameter-expression: lower
      secret:
        type: object
        +verb: secret
        +excluded: true
        properties:
          a: {type: string}
          b: {type: string, +verb: part}
      size: {type: integer}
`

// version is a tree and the texts of its expressions.
type version struct {
	tree *schema.Tree
	text Expression
}

func versionOf(t *testing.T, text string) version {
	t.Helper()
	text = strings.NewReplacer("+list", "x-kubernetes-list-type", "+keys", "x-kubernetes-list-map-keys",
		"+", "x-kubernetes-permission-").Replace(text)
	root := &spec.Schema{}
	if err := yaml.UnmarshalStrict([]byte(text), root); err != nil {
		t.Fatal(err)
	}
	tree, err := schema.NewModels(map[string]*spec.Schema{"root": root}, schema.WithExpressions(picky{})).Compile("root")
	if err != nil {
		t.Fatal(err)
	}
	return version{tree, func(way []schema.Step) string {
		s := root
		for _, step := range way {
			switch {
			case !step.Elem:
				field := s.Properties[step.Field]
				s = &field
			case s.Items != nil:
				s = s.Items.Schema
			default:
				s = s.AdditionalProperties.Schema
			}
		}
		out, _ := s.Extensions.GetString(schema.ExtExpression)
		return out
	}}
}

// TestWidenings checks which fields more callers may change after an update of a schema, and with
// which verb. The order is that of the fields of the old schema, and then that of new fields. A field
// is named if it or a field below it has a permission: the trees have no other fields.
func TestWidenings(t *testing.T) {
	const guard, mark, pool = ".spec.doors[*].guard", ".spec.marks[*]", ".spec.pools[*][*]"
	for _, test := range []struct {
		name string
		// replaced has texts of the old schema, each before the text that the update has instead.
		replaced []string
		want     []string
	}{
		{name: "the same"},
		{name: "the field is no longer excluded",
			replaced: []string{"+verb: mode, +excluded: true", "+verb: mode"}, want: []string{".spec.mode"}},
		{name: "the field has no permission any more",
			replaced: []string{", +verb: mode, +excluded: true", ""}, want: []string{".spec.mode"}},
		{name: "the field is gone, so its parent counts",
			replaced: []string{"      mode: {type: string, +verb: mode, +excluded: true}\n", ""},
			want:     []string{".spec.mode"}},
		{name: "another verb",
			replaced: []string{"+verb: mode", "+verb: mine"}, want: []string{".spec.mode granular:mine"}},
		{name: "two other verbs, of which the first in order is named",
			replaced: []string{"+verb: secret", "+verb: zone", "+verb: part", "+verb: area"},
			want:     []string{".spec.secret granular:zone", ".spec.secret.b granular:area"}},
		{name: "another verb above a field with a verb", replaced: []string{"+verb: secret", "+verb: mine"},
			want: []string{".spec.secret granular:mine", ".spec.secret.b granular:mine"}},
		{name: "a verb at a field below",
			replaced: []string{"a: {type: string}", "a: {type: string, +verb: mine}"},
			want:     []string{".spec.secret.a granular:mine"}},
		{name: "a verb at a new field below",
			replaced: []string{"a: {type: string}", "a: {type: string}\n          more: {type: string, +verb: mine}"},
			want:     []string{".spec.secret.more granular:mine"}},
		{name: "a new field comes after the others",
			replaced: []string{"a: {type: string}",
				"a: {type: string}\n          _: {type: string, +verb: mine}", "+verb: part", "+verb: whole"},
			want: []string{".spec.secret.b granular:whole", ".spec.secret._ granular:mine"}},
		{name: "a new field below without a verb",
			replaced: []string{"a: {type: string}", "a: {type: string}\n          more: {type: string}"}},
		{name: "a verb less below", replaced: []string{", +verb: part", ""}},
		{name: "a new field that is not excluded",
			replaced: []string{"size: {type: integer}", "size: {type: integer}\n      more: {type: string, +verb: mine}"}},
		{name: "another field is excluded",
			replaced: []string{"size: {type: integer}", "size: {type: integer, +verb: size, +excluded: true}"}},
		{name: "a verb that an exclusion below leaves out", replaced: []string{"+verb: specification", "+verb: mine"}},

		{name: "a parameter less",
			replaced: []string{", +parameterized-by: door", ""}, want: []string{guard + " granular:guard"}},
		{name: "a parameter more",
			replaced: []string{"+verb: mode,", "+verb: mode, +parameterized-by: self,"},
			want:     []string{".spec.mode granular:mode(…)"}},
		{name: "another name of the parameter",
			replaced: []string{"+parameter-source: door", "+parameter-source: gate",
				"+parameterized-by: door", "+parameterized-by: gate"}},
		{name: "another key of the same list",
			replaced: []string{"+parameterized-by: door", "+parameterized-by: side"},
			want:     []string{guard + " granular:guard(…)"}},
		{name: "the key of another map",
			replaced: []string{"        +parameter-source: pool\n", "",
				"additionalProperties:\n          type: object",
				"additionalProperties:\n          type: object\n          +parameter-source: pool"},
			want: []string{pool + " granular:pool(…)"}},
		{name: "the value, not the key",
			replaced: []string{"+parameterized-by: pool", "+parameterized-by: self"},
			want:     []string{pool + " granular:pool(…)"}},
		{name: "another treatment",
			replaced: []string{"+parameterized-by: door", "+parameterized-by: door, +parameter-treatment: slash-delimited-prefix"},
			want:     []string{guard + " granular:guard(…)"}},
		{name: "another expression",
			replaced: []string{"+parameter-expression: lower", "+parameter-expression: upper"},
			want:     []string{pool + " granular:pool(…)"}},
		{name: "an expression less",
			replaced: []string{"            +parameter-expression: lower\n", ""}, want: []string{pool + " granular:pool(…)"}},
		{name: "another field of the value",
			replaced: []string{"self.key", "self.other"}, want: []string{mark + " granular:mark(…)"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			for i := 0; i < len(test.replaced); i += 2 {
				if !strings.Contains(safe, test.replaced[i]) {
					t.Fatalf("%q is not in the schema", test.replaced[i])
				}
			}
			old, updated := versionOf(t, safe), versionOf(t, strings.NewReplacer(test.replaced...).Replace(safe))
			var got []string
			for _, w := range Widenings(old.tree, updated.tree, old.text, updated.text) {
				got = append(got, strings.TrimSpace(schema.Pattern(w.Way)+" "+w.Verb))
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
