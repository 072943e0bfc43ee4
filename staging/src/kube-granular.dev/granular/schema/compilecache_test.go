// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"weak"

	"github.com/google/go-cmp/cmp"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"kube-granular.dev/granular/internal/testmodels"
	"kube-granular.dev/granular/schema"
)

// everything returns the tree of a definition as text, or its problems.
func everything(m *schema.Models, name string) string {
	tree, err := m.Compile(name)
	if err != nil {
		var b strings.Builder
		for _, problem := range schema.ProblemsOf(err) {
			b.WriteString(problem.Error() + "\n")
		}
		return b.String() + err.Error()
	}
	return shown(tree)
}

// shown returns a tree as text, with everything that walks and decisions use.
func shown(tree *schema.Tree) string {
	var b strings.Builder
	for place := range tree.NodePaths() {
		n := place.Node()
		fmt.Fprintf(&b, "%s %v %v %v %v %v %v %d:", place.Pattern(), n.Kind, n.NilIsEmpty, n.ExcludedAt, n.ExcludedBelow, n.System(), n.Keys(), len(n.Own()))
		for _, p := range n.Chain() {
			fmt.Fprintf(&b, " %s excluded=%v", p.Name, p.Excluded)
			if p.Parameter != nil {
				fmt.Fprintf(&b, "%+v", *p.Parameter)
			}
		}
		b.WriteString(" " + n.Default().String())
		b.WriteByte('\n')
	}
	return b.String()
}

// compareWithPlain compiles definitions in the given order, three times, and compares each result
// with that of a compilation without cache and interner.
func compareWithPlain(t *testing.T, definitions map[string]*spec.Schema, names []string, options ...schema.Option) (compiled int) {
	t.Helper()
	sharing := schema.NewInterner()
	options = append([]schema.Option{schema.WithInterner(sharing)}, options...)
	models := schema.NewModels(definitions, options...)
	for round := range 3 {
		if round == 2 { // new Models, as the server makes them for each kind
			models = schema.NewModels(definitions, options...)
		}
		for _, name := range names {
			want := everything(schema.NewModels(definitions, append(options[:len(options):len(options)], schema.WithInterner(schema.NewInterner()), schema.Plain)...), name)
			if diff := cmp.Diff(want, everything(models, name)); diff != "" {
				t.Fatalf("%s (-alone +after others):\n%s", name, diff)
			}
			if strings.HasPrefix(want, " object") {
				compiled++
			}
		}
	}
	return compiled
}

func TestCompileCacheChangesNothing(t *testing.T) {
	definitions, err := testmodels.Definitions()
	if err != nil {
		t.Fatal(err)
	}
	names := slices.Sorted(maps.Keys(definitions))
	compareWithPlain(t, definitions, names)
	slices.Reverse(names)
	compareWithPlain(t, definitions, names)
}

// TestCompileCacheOfRandomDefinitions makes definitions with few different names and fields, so
// that each definition is compiled many times, below different permissions, scopes, sources and
// definitions.
func TestCompileCacheOfRandomDefinitions(t *testing.T) {
	sharing, compiled := schema.NewInterner(), 0
	for seed := range uint64(1500) {
		compiled += compareRandom(t, sharing, seed)
	}
	if compiled < 2000 {
		t.Errorf("only %d compiled without a problem", compiled)
	}
}

// TestCompileCacheIsOfTheBareReference checks that the cached node of a definition is not used for
// a reference with other keywords beside it, nor inside a cycle of references, in any order of
// compilation.
func TestCompileCacheIsOfTheBareReference(t *testing.T) {
	definitions := definitionsOf(t, `
bare: {properties: {a: {$ref: '#/definitions/A'}}}
verb: {properties: {a: {$ref: '#/definitions/A', +verb: own}}}
field: {properties: {a: {$ref: '#/definitions/A', properties: {z: {+verb: z}}}}}
fields: {properties: {a: {$ref: '#/definitions/A', properties: {zz: {+verb: zz}}}}}
verbs: {properties: {a: {$ref: '#/definitions/A', +verb: another}}}
values: {properties: {a: {$ref: '#/definitions/C', additionalProperties: {+verb: z}}}}
value: {properties: {a: {$ref: '#/definitions/C', additionalProperties: {+verb: zz}}}}
items: {properties: {a: {$ref: '#/definitions/C', items: {+verb: z}}}}
item: {properties: {a: {$ref: '#/definitions/C', items: {+verb: zz}}}}
bareC: {properties: {a: {$ref: '#/definitions/C'}}}
all: {properties: {a: {allOf: [{$ref: '#/definitions/A'}]}}}
both: {properties: {a: {allOf: [{$ref: '#/definitions/A'}, {$ref: '#/definitions/B'}]}}}
beside: {properties: {a: {$ref: '#/definitions/A', allOf: [{$ref: '#/definitions/B'}]}}}
besides: {properties: {a: {$ref: '#/definitions/A', allOf: [{$ref: '#/definitions/C'}]}}}
another: {properties: {a: {$ref: '#/definitions/C', allOf: [{$ref: '#/definitions/B'}]}}}
contradiction: {properties: {a: {$ref: '#/definitions/A'}, b: {+verb: x, +excluded: true}}}
agreement: {properties: {a: {$ref: '#/definitions/A'}, b: {+verb: x}}}
before: {properties: {A: {+verb: x, +excluded: true}, a: {$ref: '#/definitions/A'}}}
again: {properties: {a: {$ref: '#/definitions/A'}, b: {$ref: '#/definitions/A'}}}
default: {properties: {a: {$ref: '#/definitions/D', default: 1}}}
other: {properties: {a: {$ref: '#/definitions/D', default: 2}}}
circle: {properties: {a: {$ref: '#/definitions/R'}}}
from: {properties: {a: {$ref: '#/definitions/S'}, b: {$ref: '#/definitions/R'}}}
round: {+verb: r, properties: {a: {$ref: '#/definitions/S'}}}
within: {properties: {a: {$ref: '#/definitions/W'}}}
W: {properties: {a: {$ref: '#/definitions/R'}, b: {$ref: '#/definitions/S'}, c: {$ref: '#/definitions/A'}}}
R: {+verb: r, properties: {a: {$ref: '#/definitions/S'}, b: {$ref: '#/definitions/A'}}}
S: {properties: {b: {$ref: '#/definitions/R'}, t: {+verb: t}}}
A: {properties: {w: {+verb: w}, x: {+verb: x}, xx: {+verb: x}}}
B: {properties: {z: {+verb: z}}}
C: {+verb: c}
D: {+verb: d, +excluded: true}
`)
	names := slices.Sorted(maps.Keys(definitions))
	// Two of the definitions have problems; all others compile, in each of three rounds.
	if compiled := compareWithPlain(t, definitions, names); compiled != 3*(len(names)-2) {
		t.Errorf("%d compiled", compiled)
	}
	slices.Reverse(names)
	compareWithPlain(t, definitions, names)
	for _, first := range names {
		compareWithPlain(t, definitions, append([]string{first}, names...))
	}
}

// TestCompileCacheIsOfOneWay checks that a node that was compiled with some options, or below one
// parameter source, is not used with other options or below another source.
func TestCompileCacheIsOfOneWay(t *testing.T) {
	definitions := definitionsOf(t, `
one: {properties: {m: {+parameter-source: k, additionalProperties: {$ref: '#/definitions/A'}}}}
two: {properties: {m: {+parameter-source: j, additionalProperties: {$ref: '#/definitions/A'}}}}
A: {+verb: a, +parameterized-by: k}
path: {properties: {b: {$ref: '#/definitions/B'}}}
B: {+verb: b, properties: {c: {+verb: c}}}
word: {properties: {e: {$ref: '#/definitions/E'}}}
E: {properties: {m: {+parameter-source: k, additionalProperties: {+verb: e, +parameterized-by: k, +parameter-expression: upper}}}}
`)
	sharing := schema.NewInterner()
	for _, step := range []struct {
		root    string
		options []schema.Option
		fails   string
	}{
		{"one", nil, ""}, {"two", nil, `no map or list above has x-kubernetes-permission-parameter-source: k`}, {"one", nil, ""},
		{"path", nil, ""}, {"path", []schema.Option{schema.WithMaxPermissionsOnPath(1)}, "more than 1 permissions on one path"}, {"path", nil, ""},
		{"word", []schema.Option{schema.WithExpressions(&shout{})}, ""}, {"word", nil, "is not supported here"}, {"word", []schema.Option{schema.WithExpressions(&shout{})}, ""},
	} {
		for range 2 {
			_, err := schema.NewModels(definitions, append(step.options, schema.WithInterner(sharing))...).Compile(step.root)
			if (err == nil) != (step.fails == "") || err != nil && !strings.Contains(err.Error(), step.fails) {
				t.Errorf("%s: %v, wanted %q", step.root, err, step.fails)
			}
		}
	}
}

// TestCompileCacheOfManyDefinitions checks that the cached nodes of one definition are used again
// after many other definitions were compiled.
func TestCompileCacheOfManyDefinitions(t *testing.T) {
	definitions := definitionsOf(t, `
first: {properties: {a: {$ref: '#/definitions/A'}}}
last: {properties: {a: {$ref: '#/definitions/A'}, b: {+verb: b}}}
A: {properties: {x: {+verb: x}}}
`)
	names := []string{"first"}
	for i := range 130 {
		name := fmt.Sprint("f", i)
		definitions[name] = (&spec.Schema{}).SetProperty("a", *spec.RefSchema("#/definitions/A"))
		names = append(names, name)
	}
	names = append(names, "last")
	if compiled := compareWithPlain(t, definitions, names); compiled != 3*len(names) {
		t.Errorf("%d compiled", compiled)
	}
}

// TestNothingIsKnownOfSources checks that nodes compiled from the definitions of one source are
// not used for those of another source with the same names.
func TestNothingIsKnownOfSources(t *testing.T) {
	sharing := schema.NewInterner()
	for i := range 20 {
		verb := []string{"one", "two", "three"}[i%3]
		definitions := definitionsOf(t, `
root: {properties: {a: {$ref: '#/definitions/A'}}}
A: {properties: {x: {+verb: `+verb+`}}}
`)
		source := func() map[string]*spec.Schema { return definitions }
		for _, options := range [][]schema.Option{nil, {schema.WithSource(source)}} {
			tree, err := schema.NewModels(definitions, append(options, schema.WithInterner(sharing))...).Compile("root")
			if err != nil {
				t.Fatal(err)
			}
			if got := tree.Root.Child("a").Child("x").Last().Name; got != verb {
				t.Errorf("%s, not %s, with %d options", got, verb, len(options))
			}
		}
	}
}

// TestFailuresAreNotKnown checks that a problem in a definition is reported for each kind that
// refers to the definition, not only for the first.
func TestFailuresAreNotKnown(t *testing.T) {
	models := schema.NewModels(definitionsOf(t, `
one: {properties: {a: {$ref: '#/definitions/A'}}}
two: {properties: {a: {$ref: '#/definitions/A'}}}
A: {properties: {x: {+verb: X}, z: {+verb: z}}}
`))
	for _, name := range []string{"one", "two", "one"} {
		if tree, err := models.Compile(name); err == nil || !strings.Contains(err.Error(), ".a.x: ") {
			t.Errorf("%s: %v, %v", name, tree, err)
		}
	}
}

// TestTreesOutliveTheirArena checks that no tree uses the memory of an arena, which later
// compilations use again.
func TestTreesOutliveTheirArena(t *testing.T) {
	type kept struct {
		tree *schema.Tree
		was  string
	}
	var trees []kept
	sharing := schema.NewInterner()
	for seed := range uint64(1500) {
		definitions := randomDefinitions(rand.New(rand.NewPCG(seed, 7)))
		models := schema.NewModels(definitions, schema.WithInterner(sharing), schema.WithExpressions(echo(nil)),
			schema.WithSource(func() map[string]*spec.Schema { return definitions }))
		for _, name := range slices.Sorted(maps.Keys(definitions)) {
			if tree, err := models.Compile(name); err == nil {
				trees = append(trees, kept{tree, shown(tree)})
			}
		}
	}
	for _, k := range trees {
		if diff := cmp.Diff(k.was, shown(k.tree)); diff != "" {
			t.Fatalf("(-compiled +after others):\n%s", diff)
		}
	}
	if len(trees) < 500 {
		t.Errorf("only %d compiled without a problem", len(trees))
	}
}

func FuzzKnowledge(f *testing.F) {
	f.Add(uint64(1297))
	sharing := schema.NewInterner()
	f.Fuzz(func(t *testing.T, seed uint64) { compareRandom(t, sharing, seed) })
}

func compareRandom(t *testing.T, sharing *schema.Interner, seed uint64) int {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 7))
	definitions := randomDefinitions(r)
	names := slices.Sorted(maps.Keys(definitions))
	r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	options := []schema.Option{schema.WithInterner(sharing), schema.WithExpressions(echo(nil))}
	// With a source nothing is cached, but the arena had definitions with the same names in it.
	source := schema.WithSource(func() map[string]*spec.Schema { return definitions })
	compareWithPlain(t, definitions, names, append(options[:len(options):len(options)], source)...)
	return compareWithPlain(t, definitions, names, options...)
}

// echo is a language in which every expression returns the key. Its expressions are not
// comparable.
type echo func()

func (echo) Compile(string) (schema.Expression, error) { return echo(nil), nil }

func (echo) Parameter(_ context.Context, key string) (string, int64, error) { return key, 1, nil }

func randomDefinitions(r *rand.Rand) map[string]*spec.Schema {
	out := map[string]*spec.Schema{}
	for i := range 5 + r.IntN(4) {
		s := randomSchema(r, i, 2)
		out[fmt.Sprintf("D%d", i)] = &s
	}
	return out
}

// randomSchema mostly refers to definitions with a greater number, and rarely to any definition.
func randomSchema(r *rand.Rand, number, depth int) spec.Schema {
	s := spec.Schema{}
	if depth < 2 && r.IntN(3) > 0 {
		to := number + 1 + r.IntN(2)
		if r.IntN(12) == 0 {
			to = r.IntN(4)
		}
		ref := spec.RefSchema(fmt.Sprintf("#/definitions/D%d", min(to, 7)))
		if s = *ref; r.IntN(2) == 0 {
			s = spec.Schema{SchemaProps: spec.SchemaProps{Description: "d", Default: map[string]any{}, AllOf: []spec.Schema{*ref}}}
		}
		if r.IntN(2) > 0 {
			return s
		}
	}
	mark := func(key string, values ...any) {
		if i := r.IntN(len(values) + 5); i < len(values) {
			s.AddExtension(key, values[i])
		}
	}
	mark(schema.ExtVerb, "p", "q", "r", "one", "x", "y")
	if verb, _ := s.Extensions[schema.ExtVerb].(string); verb != "" {
		if verb > "s" == (r.IntN(60) > 0) {
			s.AddExtension(schema.ExtExcluded, true)
		}
		if r.IntN(20) == 0 {
			s.AddExtension(schema.ExtParameterized, "k")
			mark(schema.ExtTreatment, "slash-delimited-prefix")
			if s.Extensions[schema.ExtTreatment] == nil {
				mark(schema.ExtExpression, "self")
			}
		}
	}
	if r.IntN(3) == 0 {
		mark(schema.ExtScope, "one", "two")
	}
	if depth == 0 {
		return s
	}
	switch r.IntN(5) {
	case 0:
		below := randomSchema(r, number, depth-1)
		s.AdditionalProperties = &spec.SchemaOrBool{Schema: &below}
		mark(schema.ExtSource, "k")
	case 1:
		below := randomSchema(r, number, depth-1)
		s.Items = &spec.SchemaOrArray{Schema: &below}
		s.AddExtension("x-kubernetes-list-map-keys", []any{"a"})
		if mark("x-kubernetes-list-type", "set", "map"); s.Extensions["x-kubernetes-list-type"] == "map" {
			mark(schema.ExtSource, "k")
		}
	default:
		for _, name := range []string{"a", "b", "metadata"} {
			if r.IntN(3) > 0 {
				s.SetProperty(name, randomSchema(r, number, depth-1))
			}
		}
	}
	return s
}

// TestCompileCacheIsOfTheOptions compiles the same definitions with other options, which refuse
// what was compiled before.
func TestCompileCacheIsOfTheOptions(t *testing.T) {
	definitions := definitionsOf(t, `
root: {properties: {a: {$ref: "#/definitions/A"}}}
A: {+verb: x, properties: {b: {+verb: w, +parameter-source: k, additionalProperties: {+verb: z, +parameterized-by: k, +parameter-expression: self}}}}
`)
	sharing := schema.NewInterner()
	compile := func(options ...schema.Option) error {
		_, err := schema.NewModels(definitions, append(options, schema.WithInterner(sharing))...).Compile("root")
		return err
	}
	if err := compile(schema.WithExpressions(echo(nil))); err != nil {
		t.Fatal(err)
	}
	if err := compile(schema.WithExpressions(echo(nil)), schema.WithMaxPermissionsOnPath(2)); err == nil {
		t.Error("the limit of another compilation was used")
	}
	if err := compile(); err == nil {
		t.Error("the language of another compilation was used")
	}
}

// TestCompileCacheIsForgotten checks that an interner does not keep definitions that nobody
// compiles any more.
func TestCompileCacheIsForgotten(t *testing.T) {
	sharing := schema.NewInterner()
	definition := func() weak.Pointer[spec.Schema] {
		definitions := definitionsOf(t, "root: {properties: {a: {+verb: x}}}")
		if _, err := schema.NewModels(definitions, schema.WithInterner(sharing)).Compile("root"); err != nil {
			t.Fatal(err)
		}
		return weak.Make(definitions["root"])
	}()
	for range 3 {
		runtime.GC()
	}
	if definition.Value() != nil {
		t.Error("the definition is still there")
	}
	runtime.KeepAlive(sharing)
}

// TestCompileCacheIsOfTheDefinitionAlone compiles first, and then second. The same definition is
// at the same place in both, but second has other keywords beside the reference.
func TestCompileCacheIsOfTheDefinitionAlone(t *testing.T) {
	for name, text := range map[string]string{
		"a field beside": `
first: {properties: {a: {$ref: "#/definitions/A"}}}
second: {properties: {a: {$ref: "#/definitions/A", properties: {z: {+verb: z}}}}}`,
		"what a map holds beside": `
first: {properties: {a: {$ref: "#/definitions/A"}}}
second: {properties: {a: {$ref: "#/definitions/A", additionalProperties: {+verb: z}}}}`,
		"what a list holds beside": `
first: {properties: {a: {$ref: "#/definitions/A"}}}
second: {properties: {a: {$ref: "#/definitions/A", items: {+verb: z}}}}`,
		"a scope of the name of a permission": `
first: {properties: {o: {+verb: one, properties: {a: {$ref: "#/definitions/A"}}}}}
second: {properties: {o: {+scope: one, properties: {a: {$ref: "#/definitions/A"}}}}}`,
		"a definition that is entered above already": `
first: {properties: {o: {additionalProperties: {$ref: "#/definitions/A"}}}}
second: {properties: {o: {$ref: "#/definitions/A", additionalProperties: {$ref: "#/definitions/A"}}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			definitions := definitionsOf(t, text+"\nA: {+verb: x}\n")
			if compiled := compareWithPlain(t, definitions, []string{"first", "second"}); compiled != 6 {
				t.Errorf("%d compiled", compiled)
			}
			compareWithPlain(t, definitions, []string{"second", "first"})
		})
	}
}

// TestCompileCacheKeepsBounds checks that a cached node counts towards the bounds of a tree, and
// must agree with the rest of the tree, like a newly compiled one.
func TestCompileCacheKeepsBounds(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"excluded after it was not", `
first: {properties: {a: {$ref: "#/definitions/A"}}}
second: {properties: {_: {+verb: x}, a: {$ref: "#/definitions/A"}}}
A: {properties: {x: {+verb: x, +excluded: true}}}`, `.a.x: x-kubernetes-permission-verb: permission "x" is excluded in one place and not in another`},
		{"not excluded after it was", `
first: {properties: {a: {$ref: "#/definitions/A"}}}
second: {properties: {b: {+verb: x}, a: {$ref: "#/definitions/A"}}}
A: {properties: {x: {+verb: x, +excluded: true}}}`, `.b: x-kubernetes-permission-verb: permission "x" is excluded in one place and not in another`},
		{"not excluded, as it was, after it is", `
first: {properties: {a: {$ref: "#/definitions/A"}}}
second: {properties: {_: {+verb: x, +excluded: true}, a: {$ref: "#/definitions/A"}}}
A: {properties: {w: {+verb: w}, x: {+verb: x}}}`, `.a.x: x-kubernetes-permission-verb: permission "x" is excluded in one place and not in another`},
		{"not excluded, as it was, before it is", `
first: {properties: {a: {$ref: "#/definitions/A"}}}
second: {properties: {b: {+verb: x, +excluded: true}, a: {$ref: "#/definitions/A"}}}
A: {properties: {w: {+verb: w}, x: {+verb: x}}}`, `.b: x-kubernetes-permission-verb: permission "x" is excluded in one place and not in another`},
		{"excluded below a map, as it was, after it is not", `
first: {properties: {a: {$ref: "#/definitions/A"}}}
second: {properties: {_: {+verb: x}, a: {$ref: "#/definitions/A"}}}
A: {additionalProperties: {+verb: x, +excluded: true}}`, `.a[*]: x-kubernetes-permission-verb: permission "x" is excluded in one place and not in another`},
		{"too broad", `
first: {properties: {f0: {$ref: "#/definitions/C"}}}
second: {properties: {f0: {$ref: "#/definitions/B"}, f1: {$ref: "#/definitions/B"}}}
` + wide(), "more than 10000 places with permissions"},
	} {
		t.Run(test.name, func(t *testing.T) {
			models := schema.NewModels(definitionsOf(t, test.text))
			if _, err := models.Compile("first"); err != nil {
				t.Fatal(err)
			}
			got, alone := everything(models, "second"), everything(schema.NewModels(definitionsOf(t, test.text), schema.Plain), "second")
			if !strings.Contains(got, test.want) || got != alone {
				t.Errorf("got %s, alone %s", got, alone)
			}
		})
	}
}
