// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/schema"
)

// priced is a language whose expressions are "<name> <units>". Each expression returns its name
// and costs that many units. priced counts the evaluations for each key.
type priced struct {
	keys map[string]int
	// during is called in each evaluation.
	during func()
}

type price struct {
	of   *priced
	name string
	cost int64
}

func (p *priced) Compile(expression string) (schema.Expression, error) {
	e := &price{of: p}
	_, err := fmt.Sscanf(expression, "%s %d", &e.name, &e.cost)
	return e, err
}

func (p *price) Parameter(ctx context.Context, key string) (string, int64, error) {
	if p.of.keys == nil {
		p.of.keys = map[string]int{}
	}
	p.of.keys[p.name+" "+key]++
	if p.of.during != nil {
		p.of.during()
	}
	return p.name, p.cost, ctx.Err()
}

// thing has four maps in spec. Fields in nested and computed have a permission with the key of the
// map as parameter, in computed by an expression. The values of many have two permissions with the
// same expression, and one with another expression. The values of bare have no permission without
// an expression.
const thing = `
type: object
properties:
  spec:
    type: object
    properties:
      nested:
        type: object
        x-kubernetes-permission-parameter-source: outer
        additionalProperties:
          type: object
          additionalProperties: {type: string, x-kubernetes-permission-verb: inner, x-kubernetes-permission-parameterized-by: outer, x-kubernetes-permission-parameter-treatment: slash-delimited-prefix}
      computed:
        type: object
        x-kubernetes-permission-parameter-source: outer
        additionalProperties:
          type: object
          additionalProperties: {type: string, x-kubernetes-permission-verb: computed, x-kubernetes-permission-parameterized-by: outer, x-kubernetes-permission-parameter-expression: first 1}
      many:
        type: object
        x-kubernetes-permission-verb: many
        x-kubernetes-permission-parameter-source: key
        additionalProperties:
          type: object
          x-kubernetes-permission-verb: one
          x-kubernetes-permission-parameterized-by: key
          x-kubernetes-permission-parameter-expression: a 1000
          properties:
            x: {type: string, x-kubernetes-permission-verb: x, x-kubernetes-permission-parameterized-by: key, x-kubernetes-permission-parameter-expression: a 1000}
            z: {type: string, x-kubernetes-permission-verb: z, x-kubernetes-permission-parameterized-by: key, x-kubernetes-permission-parameter-expression: b 500}
      bare:
        type: object
        x-kubernetes-permission-parameter-source: key
        additionalProperties: {type: string, x-kubernetes-permission-verb: bare, x-kubernetes-permission-parameterized-by: key, x-kubernetes-permission-parameter-expression: a 1000}
`

func thingWalker(t *testing.T, language schema.Expressions) *change.Walker {
	t.Helper()
	s := &spec.Schema{}
	if err := yaml.Unmarshal([]byte(thing), s); err != nil {
		t.Fatal(err)
	}
	tree, err := schema.NewModels(map[string]*spec.Schema{"Thing": s}, schema.WithExpressions(language)).Compile("Thing")
	if err != nil {
		t.Fatal(err)
	}
	return change.NewWalker(tree)
}

// thingChanges sets the given fields below each of n keys of a map. Without fields, it sets the
// value of the key itself.
func thingChanges(t *testing.T, w *change.Walker, in string, n int, fields ...string) change.Set {
	t.Helper()
	values := object{}
	for i := range n {
		value := any("v")
		if len(fields) > 0 {
			of := object{}
			for _, f := range fields {
				of[f] = "v"
			}
			value = of
		}
		values[fmt.Sprintf("k%04d", i)] = value
	}
	before := object{}
	for k := range values {
		before[k] = object{}
		if len(fields) == 0 {
			before[k] = "w"
		}
	}
	set, err := w.Compare(change.All, object{"spec": object{in: before}}, object{"spec": object{in: values}})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestCost(t *testing.T) {
	for _, tc := range []struct {
		name   string
		in     string
		keys   int
		fields []string
		holds  []string
		// evaluations is the number of evaluations, and refused is the message of the refusal.
		evaluations int
		refused     string
	}{
		{"one key", "many", 1, []string{"x"}, []string{"granular:x(a)"}, 1, ""},
		{"as many as the limit is for", "many", 1000, []string{"x"}, []string{"granular:x(a)"}, 1000, ""},
		{"one key more", "many", 1001, []string{"x"}, []string{"granular:x(a)"}, 1000,
			`cannot change .spec.many[k1000].x: the parameter expressions for this request cost more than 1000000 units; hold the verb "granular:many" instead, or change fewer keys at a time`},
		{"several permissions by one expression, which is evaluated once", "many", 1000, []string{"x"},
			[]string{"granular:one(a)"}, 1000, ""},
		{"several expressions for one key", "many", 666, []string{"x", "z"},
			[]string{"granular:x(a)", "granular:z(b)"}, 2 * 666, ""},
		{"several expressions for one key, one key more", "many", 667, []string{"x", "z"}, []string{"granular:x(a)", "granular:z(b)"}, 2*666 + 1,
			`cannot change .spec.many[k0666].z: the parameter expressions for this request cost more than 1000000 units; hold the verb "granular:many" instead, or change fewer keys at a time`},
		{"the general verb, whatever the number of keys", "many", 5000, []string{"x", "z"},
			[]string{"granular:many"}, 1, ""},
		{"nothing held", "many", 5000, []string{"x", "z"}, nil, 1,
			`cannot change .spec.many[k0000].x: needs one of the verbs "granular:x(a)", "granular:many"`},
		{"no permission without an expression", "bare", 1001, nil, []string{"granular:bare(a)"}, 1000,
			`cannot change .spec.bare[k1000]: the parameter expressions for this request cost more than 1000000 units, and every permission of the field has an expression; change fewer keys at a time`},
		{"no permission without an expression, as many as the limit is for", "bare", 1000, nil,
			[]string{"granular:bare(a)"}, 1000, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			language := &priced{}
			w := thingWalker(t, language)
			set := thingChanges(t, w, tc.in, tc.keys, tc.fields...)
			d := New(&holder{t: t, holds: tc.holds}, 0)
			// A retry has the same result as the first attempt, and evaluates no expression again.
			for range 3 {
				refusal, err := d.Decide(t.Context(), set, true)
				got := ""
				if refusal != nil {
					got = refusal.Message("")
				}
				if err != nil || got != tc.refused {
					t.Errorf("got  %s, %v\nwant %s", got, err, tc.refused)
				}
				if refusal != nil && (refusal.Reason == Cost) != strings.Contains(tc.refused, "units") {
					t.Errorf("reason %s", refusal.Reason)
				}
				if d.Costs().Evaluations() != tc.evaluations {
					t.Errorf("%d evaluations", d.Costs().Evaluations())
				}
				if d.Costs().Spent() > MaxCost+1000 {
					t.Errorf("%d units", d.Costs().Spent())
				}
			}
			for key, times := range language.keys {
				if times > 1 {
					t.Errorf("%s was evaluated %d times", key, times)
				}
			}
		})
	}
}

// TestCostOfRetries checks that attempts with changes of different keys share one limit.
func TestCostOfRetries(t *testing.T) {
	w := thingWalker(t, &priced{})
	set := thingChanges(t, w, "many", 1001, "x")
	d := New(&holder{t: t, holds: []string{"granular:x(a)"}}, 0)
	for i := range 2 {
		if refusal, err := d.Decide(t.Context(), set[500*i:500*(i+1)], true); refusal != nil || err != nil {
			t.Fatal(refusal, err)
		}
	}
	refusal, err := d.Decide(t.Context(), set[1000:], true)
	if err != nil || refusal == nil || refusal.Reason != Cost || refusal.General != "granular:many" || refusal.Specific != "" {
		t.Error(refusal, err)
	}
	// Remembered results stay available. A second Decider of the request has the same limit.
	if refusal, err := d.Decide(t.Context(), set[:1000], true); refusal != nil || err != nil {
		t.Error(refusal, err)
	}
	next := New(&holder{t: t, holds: []string{"granular:x(a)"}}, 0)
	next.Continue(d)
	if refusal, err := next.Decide(t.Context(), set[1000:], true); err != nil || refusal == nil || refusal.Reason != Cost {
		t.Error(refusal, err)
	}
}

// TestEnded checks that Decide makes no decision once the context has ended, neither between
// changes nor after an expression during which it ended.
func TestEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	language := &priced{}
	w := thingWalker(t, language)
	set := thingChanges(t, w, "many", 300, "x")
	d := New(&holder{t: t, holds: []string{"granular:x(a)"}}, 0)
	language.during = func() {
		if d.Costs().Evaluations() == 100 {
			cancel()
		}
	}
	if refusal, err := d.Decide(ctx, set, true); !errors.Is(err, context.Canceled) || refusal != nil || d.Costs().Evaluations() != 100 {
		t.Errorf("%v, %v after %d evaluations", refusal, err, d.Costs().Evaluations())
	}
	// The caller holds the verb, and still Decide makes no decision.
	if refusal, err := d.Decide(ctx, set[:1], true); !errors.Is(err, context.Canceled) || refusal != nil {
		t.Error(refusal, err)
	}
	if d.CoveredAsObserved(ctx, set[:1], true) {
		t.Error("covered after the end")
	}
	if refusal, err := d.Decide(t.Context(), set, true); err != nil || refusal != nil {
		t.Error(refusal, err)
	}

	// Decide notices the end also without expressions, however many changes one verb covers.
	ctx, cancel = context.WithCancel(t.Context())
	h := &ending{cancel: cancel}
	if _, err := New(h, 0).Decide(ctx, changesOf(t, "apps", "v1", "Deployment", change.All, labels(0), labels(1000)), true); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// ending allows everything, and ends the context.
type ending struct{ cancel func() }

func (e *ending) FirstAllowed(context.Context, []string) (int, error) {
	e.cancel()
	return 0, nil
}

// forgetful is a language whose expressions return the first letter of a key. The expressions are
// not comparable, so a CostBudget does not remember their results.
type forgetful struct{ _ []byte }

func (f forgetful) Compile(string) (schema.Expression, error) { return f, nil }

func (forgetful) Parameter(_ context.Context, key string) (string, int64, error) {
	return key[:1], 1, nil
}

// TestLongKey checks that the verb of a long key is made once for all changes below the key, and
// that each key gets its own verb.
func TestLongKey(t *testing.T) {
	const n = 1000
	w := thingWalker(t, forgetful{})
	many := object{}
	for i := range n {
		many[fmt.Sprintf("k%d", i)] = "v"
	}
	a, b := strings.Repeat("a", longKey), strings.Repeat("b", longKey)
	changes := func(in string) change.Set {
		set, err := w.Compare(change.All, object{"spec": object{in: object{a: object{"k": ""}, b: object{"k": ""}}}}, object{"spec": object{in: object{a: many, b: object{"k": "v"}}}})
		if err != nil {
			t.Fatal(err)
		}
		return set
	}
	const heldA, heldB = "granular:computed(a)", "granular:computed(b)"
	d := New(&holder{t: t, holds: []string{heldA, heldB}}, 0)
	for i := range 2 {
		if refusal, err := d.Decide(t.Context(), changes("computed"), true); refusal != nil || err != nil {
			t.Fatal(refusal, err)
		}
		if got := d.Costs().Evaluations(); got != 2*(i+1) {
			t.Errorf("%d evaluations", got)
		}
	}
	for held, refused := range map[string]string{heldA: b, heldB: a} {
		refusal, err := New(&holder{t: t, holds: []string{held}}, 0).Decide(t.Context(), changes("computed"), true)
		if err != nil || refusal == nil || refusal.Change.Path()[2].Keys[0] != refused {
			t.Errorf("who holds %s: %v", held, err)
		}
	}
	// The same applies to a treatment. The keys are long, and also differ behind the slash.
	a, b = "a/"+a, "b/"+b
	if refusal, err := New(&holder{t: t, holds: []string{"granular:inner(a)", "granular:inner(b)"}}, 0).Decide(t.Context(), changes("nested"), true); refusal != nil || err != nil {
		t.Error(refusal, err)
	}
	refusal, err := New(&holder{t: t, holds: []string{"granular:inner(a)"}}, 0).Decide(t.Context(), changes("nested"), true)
	if err != nil || refusal == nil || refusal.Change.Path()[2].Keys[0] != b {
		t.Error(err)
	}
}
