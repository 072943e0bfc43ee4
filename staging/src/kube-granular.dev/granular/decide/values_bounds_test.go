// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/schema"
)

// TestValuesAreBounded checks that the values of many elements do not ask for more verbs than the
// budget allows.
func TestValuesAreBounded(t *testing.T) {
	w := valuesWalker(t)
	var keys []string
	for i := range 1000 {
		keys = append(keys, fmt.Sprintf("k%d", i))
	}
	set, err := w.Compare(change.All, withTaints(nil), withTaints(keys))
	if err != nil {
		t.Fatal(err)
	}
	all := &allowing{}
	refusal, err := New(all, 0).Decide(context.Background(), set, true)
	if err != nil || refusal == nil {
		t.Fatalf("got %v, %v", refusal, err)
	}
	if all.verbs > DefaultBudget {
		t.Errorf("%d verbs were asked", all.verbs)
	}
	if want := `more than 64 permissions would have to be checked for this request; hold the verb "granular:taints" instead`; refusal.Needs() != want {
		t.Errorf("got %s, want %s", refusal.Needs(), want)
	}
}

// allowing allows every verb that has a parameter.
type allowing struct{ verbs int }

func (a *allowing) FirstAllowed(_ context.Context, verbs []string) (int, error) {
	for i, v := range verbs {
		a.verbs++
		if strings.HasSuffix(v, ")") {
			return i, nil
		}
	}
	return -1, nil
}

// endsAt ends the context when it is asked for a verb.
type endsAt struct {
	at  string
	end context.CancelFunc
}

func (e endsAt) FirstAllowed(_ context.Context, verbs []string) (int, error) {
	if slices.Contains(verbs, e.at) {
		e.end()
	}
	return -1, nil
}

// TestValuesWhenTheRequestEnds checks that a request that ends is never allowed, whatever its last
// verb was.
func TestValuesWhenTheRequestEnds(t *testing.T) {
	w := valuesWalker(t)
	set, err := w.Compare(change.All, parsed(t, "spec: {image: a.example/x}"), parsed(t, "spec: {image: b.example/x}"))
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{"granular:specification", "granular:image", "granular:imageFrom(a.example)", "granular:imageFrom(a.example/x)"} {
		ctx, end := context.WithCancel(t.Context())
		refusal, err := New(endsAt{at, end}, 0).Decide(ctx, set, true)
		if strings.Contains(at, "From") { // no verb is left to ask for, and this one is refused
			if refusal == nil && err == nil {
				t.Errorf("%s: allowed", at)
			}
		} else if refusal != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v, %v", at, refusal, err)
		}
	}
}

// TestManyValuesWhenTheRequestEnds checks that the end of the context is noticed between values
// whose verbs have an answer already.
func TestManyValuesWhenTheRequestEnds(t *testing.T) {
	w := valuesWalker(t)
	keys := make([]string, 200)
	for i := range keys {
		keys[i] = "k"
	}
	set, err := w.Compare(change.All, withTaints(nil), withTaints(keys))
	if err != nil {
		t.Fatal(err)
	}
	p := set[0].Node.TakesValue()
	ctx, end := context.WithCancel(t.Context())
	end()
	d := New(&holder{t: t, holds: []string{"granular:taint(k)"}}, 0)
	if state, _, err := d.holdsAll(ctx, p, []string{"k"}, &Refusal{}); state == held || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, %v", state, err)
	}
}

// TestExcludedValuesAreBounded checks that the refusal names the verb of a value if every
// permission of the field has a parameter made from a value.
func TestExcludedValuesAreBounded(t *testing.T) {
	var guards []any
	for i := range 100 {
		guards = append(guards, object{"key": fmt.Sprintf("k%d", i)})
	}
	set, err := valuesWalker(t).Compare(change.ExcludedOnly, parsed(t, "spec: {guards: []}"), object{"spec": object{"guards": guards}})
	if err != nil {
		t.Fatal(err)
	}
	refusal, err := New(&allowing{}, 0).Decide(t.Context(), set, false)
	if err != nil || refusal == nil || refusal.Reason != Budget || refusal.General != "granular:guard(k64)" || refusal.Specific != refusal.General {
		t.Errorf("got %+v, %v", refusal, err)
	}
}

// dear is an expression language for parameters: each expression costs more than a request may
// spend.
type dear struct{}

func (dear) Compile(string) (schema.Expression, error) { return dear{}, nil }

func (dear) Parameter(context.Context, string) (string, int64, error) { return "p", MaxCost + 1, nil }

func TestValuesThatCostTooMuch(t *testing.T) {
	root := &spec.Schema{}
	if err := yaml.UnmarshalStrict([]byte(`properties: {mode: {type: string, x-kubernetes-permission-verb: mode,
  x-kubernetes-permission-parameterized-by: self, x-kubernetes-permission-parameter-expression: self}}`), root); err != nil {
		t.Fatal(err)
	}
	tree, err := schema.NewModels(map[string]*spec.Schema{"root": root}, schema.WithExpressions(dear{})).Compile("root")
	if err != nil {
		t.Fatal(err)
	}
	set, err := change.NewWalker(tree).Compare(change.All, parsed(t, "mode: a"), parsed(t, "mode: b"))
	if err != nil {
		t.Fatal(err)
	}
	refusal, err := New(&holder{t: t, holds: []string{"granular:mode(p)"}}, 0).Decide(t.Context(), set, true)
	if err != nil || refusal == nil || refusal.Reason != Cost {
		t.Errorf("got %+v, %v", refusal, err)
	}
}
