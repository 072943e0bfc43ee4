// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"kube-granular.dev/granular/schema"
)

// shout is a language with the single expression "upper". It counts compilations.
type shout struct{ compiled int }

func (s *shout) Compile(expression string) (schema.Expression, error) {
	s.compiled++
	if expression != "upper" {
		return nil, errors.New("not a word of this language")
	}
	return upper{}, nil
}

type upper struct{}

func (upper) Parameter(_ context.Context, key string) (string, int64, error) {
	if key == "" {
		return "", 1, errors.New("nothing to shout")
	}
	return strings.ToUpper(key), 1, nil
}

func definitions(t *testing.T, text string) map[string]*spec.Schema {
	t.Helper()
	out := map[string]*spec.Schema{}
	if err := yaml.UnmarshalStrict([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestExpression(t *testing.T) {
	language := &shout{}
	tree, err := schema.NewModels(definitions(t, `
root:
  properties:
    m:
      x-kubernetes-permission-parameter-source: k
      additionalProperties:
        x-kubernetes-permission-verb: a
        x-kubernetes-permission-parameterized-by: k
        x-kubernetes-permission-parameter-expression: upper
        properties:
          b:
            x-kubernetes-permission-verb: b
            x-kubernetes-permission-parameterized-by: k
            x-kubernetes-permission-parameter-expression: upper
`), schema.WithExpressions(language)).Compile("root")
	if err != nil {
		t.Fatal(err)
	}
	if language.compiled != 1 {
		t.Errorf("compiled %d times, wanted once for both places", language.compiled)
	}
	p := tree.Root.Child("m").Elem().Chain()[0]
	if v, err := p.Verb(t.Context(), schema.NewCostBudget(10), "key"); err != nil || v.String() != "granular:a(KEY)" {
		t.Errorf("got %s, %v", v, err)
	}
	const drawn = "root (object)\n  m (map)\n    * (object) a(k .m expression)\n      b (leaf) b(k .m expression)\n  metadata (object)\n"
	if diff := cmp.Diff(drawn, tree.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if v, err := p.Verb(t.Context(), schema.NewCostBudget(10), ""); err == nil {
		t.Errorf("the expression fails, yet there is a verb %s", v)
	}
}

func TestProblems(t *testing.T) {
	_, err := schema.NewModels(definitions(t, `
root:
  properties:
    m:
      x-kubernetes-permission-parameter-source: k
      additionalProperties:
        x-kubernetes-permission-verb: a
        x-kubernetes-permission-parameterized-by: k
        x-kubernetes-permission-parameter-expression: whisper
        properties:
          b: {x-kubernetes-permission-verb: b, properties: {c: {x-kubernetes-permission-verb: c}}}
    z: {x-kubernetes-permission-verb: Z}
`), schema.WithExpressions(&shout{}), schema.WithMaxPermissionsOnPath(1)).Compile("root")
	want := schema.Problems{
		{Place: []schema.Step{{Field: "m"}, {Elem: true}}, Extension: schema.ExtExpression,
			Reason: "not a word of this language"},
		{Place: []schema.Step{{Field: "m"}, {Elem: true}, {Field: "b"}, {Field: "c"}}, Extension: schema.ExtVerb,
			Reason: "more than 1 permissions on one path"},
		{Place: []schema.Step{{Field: "z"}}, Extension: schema.ExtVerb,
			Reason: "permission: the name must begin with a lower-case letter"},
	}
	if diff := cmp.Diff(want, schema.ProblemsOf(err)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := schema.ProblemsOf(errors.New("no schema")); len(got) != 1 || got[0].Error() != "no schema" {
		t.Errorf("got %v", got)
	}
	if got := schema.ProblemsOf(nil); got != nil {
		t.Errorf("got %v", got)
	}
}

// TestExpressionFailsEverywhere checks that an expression that can't be compiled is a problem at
// each place that has it.
func TestExpressionFailsEverywhere(t *testing.T) {
	const field = "{x-kubernetes-permission-verb: a, x-kubernetes-permission-parameterized-by: k, x-kubernetes-permission-parameter-expression: lower}"
	language := &shout{}
	_, err := schema.NewModels(definitions(t, "root: {properties: {m: {x-kubernetes-permission-parameter-source: k, additionalProperties: {properties: {a: "+field+", b: "+field+"}}}}}"),
		schema.WithExpressions(language)).Compile("root")
	if problems := schema.ProblemsOf(err); len(problems) != 2 || language.compiled != 1 {
		t.Errorf("%v, compiled %d times", err, language.compiled)
	}
}

// TestProblemsAreBounded checks that a schema with many faults is refused with a bounded number of
// problems.
func TestProblemsAreBounded(t *testing.T) {
	for name, field := range map[string]string{
		"a permission":                 "{x-kubernetes-permission-verb: A}",
		"a reference":                  "{$ref: '#/definitions/none'}",
		"a permission of values":       "{additionalProperties: {x-kubernetes-permission-verb: A}}",
		"a permission of items":        "{items: {x-kubernetes-permission-verb: A}}",
		"a list without keys":          "{x-kubernetes-list-type: map, items: {x-kubernetes-permission-verb: a}}",
		"a source without a key":       "{x-kubernetes-permission-parameter-source: k, items: {x-kubernetes-permission-verb: a}}",
		"values that refer to nothing": "{$ref: '#/definitions/A', additionalProperties: {x-kubernetes-permission-verb: a}}",
		"an element without a key":     "{x-kubernetes-permission-element: a, items: {x-kubernetes-permission-verb: a}}",
		"fields beside of values":      "{properties: {a: {x-kubernetes-permission-verb: a}}, additionalProperties: {x-kubernetes-permission-verb: b}}",
	} {
		var b strings.Builder
		b.WriteString("root: {properties: {")
		for i := range 3 * schema.MaxProblems {
			fmt.Fprintf(&b, "f%d: %s, ", i, field)
		}
		b.WriteString("}}")
		for _, text := range []string{b.String(), strings.Replace(b.String(), "root: {", "root: {properties: {metadata: {$ref: '#/definitions/b'}, spec: {$ref: '#/definitions/b'}}}\nb: {x-kubernetes-permission-verb: b, ", 1)} {
			_, err := schema.Compile(definitions(t, text+"\nA: {$ref: '#/definitions/none'}"), "root")
			if got := len(schema.ProblemsOf(err)); got != schema.MaxProblems {
				t.Errorf("%s: %d problems, wanted %d", name, got, schema.MaxProblems)
			}
		}
	}
	// Fields behind the object's metadata, and problems of the whole schema, add no further
	// problem.
	var b strings.Builder
	for i := range 2 * schema.MaxProblems {
		fmt.Fprintf(&b, "f%d: {x-kubernetes-permission-verb: A}, ", i)
	}
	_, err := schema.Compile(definitions(t, "root: {not: {x-kubernetes-permission-verb: a}, properties: {metadata: {properties: {"+b.String()+"}}}}"), "root")
	if got := len(schema.ProblemsOf(err)); got != schema.MaxProblems {
		t.Errorf("%d problems of metadata, wanted %d", got, schema.MaxProblems)
	}
}

// TestTooDeep checks that a schema that is too deep ends the compilation, also after other
// problems.
func TestTooDeep(t *testing.T) {
	var b strings.Builder
	for i := range schema.MaxProblems - 1 {
		fmt.Fprintf(&b, "f%d: {x-kubernetes-permission-verb: A}, ", i)
	}
	deep := strings.Repeat("{properties: {a: ", schema.MaxDepth+1) + "{x-kubernetes-permission-verb: a}" + strings.Repeat("}}", schema.MaxDepth+1)
	_, err := schema.Compile(definitions(t, "root: {properties: {"+b.String()+"g: "+deep+", h: {x-kubernetes-permission-verb: A}}}"), "root")
	if got := len(schema.ProblemsOf(err)); got != schema.MaxProblems {
		t.Errorf("%d problems, wanted %d", got, schema.MaxProblems)
	}
	nested := func(depth int) string {
		a := strings.Repeat("{properties: {a: ", depth-1) + "{x-kubernetes-permission-verb: a}" + strings.Repeat("}}", depth-1)
		return "root: {properties: {a: " + a + ", b: " + a + "}}"
	}
	if _, err := schema.Compile(definitions(t, nested(schema.MaxDepth)), "root"); err != nil {
		t.Errorf("the deepest: %v", err)
	}
	if _, err := schema.Compile(definitions(t, nested(schema.MaxDepth+1)), "root"); err == nil || !strings.Contains(err.Error(), "more than 128 levels deep") || len(schema.ProblemsOf(err)) != 1 {
		t.Errorf("got %v", err)
	}
	// A part without permissions may be deeper than MaxDepth, and refer to definitions.
	without := strings.Repeat("{properties: {a: ", schema.MaxDepth+1) + "{$ref: '#/definitions/A'}" + strings.Repeat("}}", schema.MaxDepth+1)
	if _, err := schema.Compile(definitions(t, "root: "+without+"\nA: {type: string}"), "root"); err != nil {
		t.Errorf("deeper, without a permission: %v", err)
	}
}

func TestTooBroad(t *testing.T) {
	// The root and its metadata count as places too.
	root := spec.Schema{}
	for i := range schema.MaxNodes - 2 {
		field := spec.Schema{}
		field.AddExtension(schema.ExtVerb, "a")
		root.SetProperty(fmt.Sprintf("f%d", i), field)
	}
	if _, err := schema.Compile(map[string]*spec.Schema{"root": &root}, "root"); err != nil {
		t.Errorf("the broadest: %v", err)
	}
	root.SetProperty("one", root.Properties["f0"])
	if _, err := schema.Compile(map[string]*spec.Schema{"root": &root}, "root"); err == nil || !strings.Contains(err.Error(), "more than 10000 places") {
		t.Errorf("got %v", err)
	}
}
