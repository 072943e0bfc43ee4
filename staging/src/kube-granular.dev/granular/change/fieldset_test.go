// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"kube-granular.dev/granular/internal/testmodels"
	"kube-granular.dev/granular/schema"
)

// agreeObserved fails the test unless CompareObserved and Compare lead to the same Intersect, for a
// random write that mutating admission or the strategy changes afterwards. It reports whether
// CompareObserved found fewer changes than Compare.
func agreeObserved(t *testing.T, w *Walker, kind string, root *spec.Schema, g testmodels.Generator, mode Mode) (smaller bool) {
	t.Helper()
	old := g.Value(root, 6)
	sent := g.Change(root, old, 6)
	final := g.Change(root, sent, 6)
	if g.IntN(4) == 0 {
		final = sent
	}
	view := func(v any) any { return clone(t, tame(v)) }
	if goTypes[kind] != nil && g.IntN(2) == 0 {
		view = func(v any) any {
			plain, _ := plainable(clone(t, tame(v))).(map[string]any)
			return typedFrom(t, kind, plain)
		}
	}
	var before any
	if g.IntN(5) > 0 {
		before = view(old)
	}
	observed := compareOrFail(t, w, mode, before, view(sent))
	everything := compareOrFail(t, w, mode, before, view(final))
	looked, err := w.CompareObserved(mode, observed, before, view(final))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(verbs(Intersect(observed, everything)), verbs(Intersect(observed, looked))); diff != "" {
		t.Fatalf("%s, observed %q (-everything +what was observed):\n%s\nold %v\nfinal %v", kind, verbs(observed), diff, before, final)
	}
	return len(looked) < len(everything)
}

func TestCompareObserved(t *testing.T) {
	definitions, err := testmodels.Definitions()
	if err != nil {
		t.Fatal(err)
	}
	smaller := 0
	count := func(less bool) {
		if less {
			smaller++
		}
	}
	for _, kind := range []string{"apps/v1/Deployment", "/v1/Pod", "/v1/ConfigMap", "example.com/v1/Widget"} {
		w := walkerOf(t, kind)
		for seed := range uint64(300) {
			r := rand.New(rand.NewPCG(seed, 11))
			g := testmodels.Generator{IntN: r.IntN, Definitions: definitions}
			count(agreeObserved(t, w, kind, definitions[w.Tree().Name], g, Mode(r.IntN(2))))
		}
	}
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 12))
		a := &author{r: r}
		root := spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"object"}, Properties: map[string]spec.Schema{}}}
		// Some schemas have more top-level fields than a fieldSet has bits.
		for i := range 2 + r.IntN(2)*r.IntN(80) {
			root.Properties[fmt.Sprintf("f%d", i)] = a.schema(2, "")
		}
		a.mark(&root, "")
		definitions := map[string]*spec.Schema{"root": &root}
		tree, err := schema.Compile(definitions, "root")
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		g := testmodels.Generator{IntN: r.IntN, Definitions: definitions}
		count(agreeObserved(t, NewWalker(tree), fmt.Sprintf("schema %d", seed), &root, g, Mode(r.IntN(2))))
	}
	if smaller < 200 {
		t.Errorf("%d walks saw less, that is no test", smaller)
	}
}

// TestCompareObservedOnCreate shows that CompareObserved compares all fields of a new object. If it
// compared only fields with an observed change, and these were dropped, it would report a change of
// the whole object.
func TestCompareObservedOnCreate(t *testing.T) {
	w := walkerOf(t, "example.com/v1/Widget")
	observed := compareOrFail(t, w, All, nil, plainOf(t, "status: {conditions: [{type: A}]}"))
	final, err := w.CompareObserved(All, observed, nil, plainOf(t, "spec: {size: 2}"))
	if err != nil {
		t.Fatal(err)
	}
	if got := verbs(Intersect(observed, final)); got != nil {
		t.Errorf("charged %q", got)
	}
}
