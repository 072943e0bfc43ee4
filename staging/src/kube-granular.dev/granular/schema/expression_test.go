// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"kube-granular.dev/granular/schema"
)

// shout is a language of one word. It counts what it compiles.
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
	if v, err := p.Verb(t.Context(), schema.NewSpending(10), "key"); err != nil || v.String() != "granular:a(KEY)" {
		t.Errorf("got %s, %v", v, err)
	}
	if v, err := p.Verb(t.Context(), schema.NewSpending(10), ""); err == nil {
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
		{Place: []schema.Step{{Field: "m"}, {Elem: true}}, Extension: schema.ExtExpression, Reason: "not a word of this language"},
		{Place: []schema.Step{{Field: "m"}, {Elem: true}, {Field: "b"}, {Field: "c"}}, Extension: schema.ExtVerb, Reason: "more than 1 permissions on one path"},
		{Place: []schema.Step{{Field: "z"}}, Extension: schema.ExtVerb, Reason: "permission: the name must begin with a lower-case letter"},
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

// A careless author's schema is refused with few words, not with one for each place.
func TestProblemsAreBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString("root: {properties: {")
	for range 3 * schema.MaxProblems {
		b.WriteString(string(rune('a'+b.Len()%26)) + strings.Repeat("x", b.Len()%7) + strings.Repeat("y", b.Len()/20) + ": {x-kubernetes-permission-verb: A}, ")
	}
	b.WriteString("}}")
	_, err := schema.Compile(definitions(t, b.String()), "root")
	if got := len(schema.ProblemsOf(err)); got != schema.MaxProblems {
		t.Errorf("%d problems, wanted %d", got, schema.MaxProblems)
	}
}

func TestTooDeep(t *testing.T) {
	nested := func(depth int) string {
		return "root: " + strings.Repeat("{properties: {a: ", depth) + "{x-kubernetes-permission-verb: a}" + strings.Repeat("}}", depth)
	}
	if _, err := schema.Compile(definitions(t, nested(schema.MaxDepth)), "root"); err != nil {
		t.Errorf("the deepest: %v", err)
	}
	if _, err := schema.Compile(definitions(t, nested(schema.MaxDepth+1)), "root"); err == nil || !strings.Contains(err.Error(), "more than 128 levels deep") {
		t.Errorf("got %v", err)
	}
}
