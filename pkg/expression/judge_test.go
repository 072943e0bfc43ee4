// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// conditions is a Dialect like that of the conditions of delegations.
var conditions = NewDialect(cel.BoolType, 4096, testBudget,
	cel.Variable("object", cel.DynType), cel.Variable("oldObject", cel.DynType), cel.Variable("text", cel.StringType))

// testBudget is the budget of a chain of delegations.
const testBudget = 500_000

// chain returns a macro chained many times.
func chain(start, link string, times int) string { return start + strings.Repeat(link, times) }

// bombs are expressions whose type check or plan takes seconds, or does not end, and what the
// refusal says.
var bombs = []struct{ name, expression, want string }{
	{"maps of themselves", chain(`[1]`, `.map(a,{a:a})`, 22) + ` == []`, "computed key"},
	{"maps of an element", chain(`[[1]]`, `.map(a,[{a[0]:a}])`, 22) + ` == []`, "computed key"},
	{"entries of themselves", chain(`{'a':1}`, `.transformMapEntry(k,v,{v:v})`, 22) + ` == {}`, "transformMapEntry"},
	{"optional values of themselves", chain(`optional.of(1)`, `.optMap(a,a)`, 40) + `.hasValue()`, "optMap"},
	{"flat optional values", chain(`optional.of(1)`, `.optFlatMap(a,optional.of(a))`, 40) + `.hasValue()`, "optMap"},
	{"sorted by themselves", chain(`[1]`, `.sortBy(a,a)`, 40) + ` == []`, "sortBy"},
	{"lists of lists", strings.Repeat(`[`, 90) + strings.Repeat(`]`, 90) + ` == []`, "too deep"},
	{"chained lists", chain(`[1]`, `.map(a,[a,a])`, 25) + ` == []`, "too deep"},
	{"many empty lists", strings.TrimSuffix(strings.Repeat(`[]==[]&&`, 300), "&&"), "lists and maps"},
	{"many comparisons", strings.TrimSuffix(strings.Repeat(`1==1&&`, 600), "&&"), "too complex"},
	{"many loops", strings.TrimSuffix(strings.Repeat(`[1].all(a,true)&&`, 200), "&&"), "macros that loop"},
	{"nested loops", strings.Repeat(`[1].all(a,`, 40) + `true` + strings.Repeat(`)`, 40), "inside each other"},
	{"a repetition", `text.matches('` + strings.Repeat(`(a{1000})`, 20) + `')`, "too large"},
	{"nested repetitions", `text.matches('((a{10}){10}){10}')`, "too large"},
	{"long patterns", `text.matches('` + strings.Repeat(`\\pL`, 200) + `')`, "regular expression"},
	{"many patterns", strings.TrimSuffix(strings.Repeat(`text.matches('(?i)`+strings.Repeat(`\\pL`, 30)+`')||`, 20), "||"), "regular expression"},
	{"a repetition from the root", `.matches(text, '((a{10}){10}){10}')`, "too large"},
	{"a computed pattern", `text.matches(text)`, "must be a literal"},
	{"a computed format", `text.format([1]) == ''`, "must be a literal"},
	{"a long precision", `'%.999999999f'.format([1.0]) == ''`, "precision"},
	{"messages", `google.protobuf.Value{} == null`, "messages"},
	{"deep parentheses", strings.Repeat(`(`, 2000) + `true` + strings.Repeat(`)`, 2000), "does not compile"},
	{"deep negation", strings.Repeat(`!(`, 1300) + `true` + strings.Repeat(`)`, 1300), "does not compile"},
}

// TestBombsAreRefused checks that what the type checker could not check in time is refused before it
// is type-checked, whether it is new or stored.
//
// Attack: a condition, or a parameter expression of a definition, that doubles its type with each of its macros
// Answer: 422 in milliseconds
// Was: compiled for minutes, after the answer as well
func TestBombsAreRefused(t *testing.T) {
	for _, bomb := range bombs {
		for _, kind := range []environment.Type{environment.NewExpressions, environment.StoredExpressions} {
			_, err := conditions.Compile(bomb.expression, kind)
			if err == nil || !strings.Contains(err.Error(), bomb.want) {
				t.Errorf("%s: got %v, want %q", bomb.name, err, bomb.want)
			}
			if judged := conditions.Judge(bomb.expression); judged == nil {
				t.Errorf("%s: the judge gives it to the type checker", bomb.name)
			}
		}
	}
}

// TestErrorsAreCheap checks that what the errors of a compilation cost does not grow with the square of the length of the
// expression. CEL's text of an error has the line of the expression and points into it.
//
// Attack: a condition with a hundred faults of types, far to the right in a long line
// Answer: 422 in milliseconds
// Was: up to 1.5 GB allocated and thrown away for each such request
func TestErrorsAreCheap(t *testing.T) {
	for name, build := range map[string]func(int) string{
		"types": func(n int) string { return `'` + strings.Repeat(`x`, 3000) + `'==''&&` + joined(`!1`, `&&`)(n) },
		"names": func(n int) string { return `'` + strings.Repeat(`x`, 3000) + `'==''&&` + joined(`a`, `&&`)(n) },
		"wide":  func(n int) string { return `'` + strings.Repeat(`世`, 1000) + `'==''&&` + joined(`!1`, `&&`)(n) },
		"durations": func(n int) string {
			return `'` + strings.Repeat(`x`, 1500) + `'==''&&` + joined(`duration('x')==duration('y')`, `&&`)(n)
		},
		"patterns": func(n int) string {
			return `'` + strings.Repeat(`x`, 2000) + `'==''&&` + joined(`text.matches('(')`, `&&`)(n)
		},
		"parser": func(n int) string { return `'` + strings.Repeat(`x`, 3000) + `'==''&&` + joined(`)`, ` `)(n) },
	} {
		text := build(min(150, longest(build)))
		for _, kind := range []environment.Type{environment.NewExpressions, environment.StoredExpressions} {
			var err error
			bytes := allocated(func() { _, err = conditions.Compile(text, kind) })
			if err == nil || !strings.HasPrefix(err.Error(), "does not compile: column ") {
				t.Errorf("%s: got %v, want that it does not compile", name, err)
			}
			if bytes > 1<<25 {
				t.Errorf("%s: allocates %d bytes for the errors of %d bytes", name, bytes, len(text))
			}
		}
	}
}

// TestReasonableExpressions is the twin of TestBombsAreRefused.
func TestReasonableExpressions(t *testing.T) {
	for _, expression := range []string{
		`object.spec.replicas == oldObject.spec.replicas`,
		`object.spec.replicas < 5 && (oldObject == null || oldObject.spec.replicas < 5)`,
		`object.spec.template.spec.containers.all(c, c.image.startsWith('registry.example.com/'))`,
		`object.spec.template.spec.containers.all(c, c.image.matches('^registry\\.example\\.com/[a-z0-9/-]+@sha256:[a-f0-9]{64}$'))`,
		`object.spec.template.spec.containers.map(c, c.image) == oldObject.spec.template.spec.containers.map(c, c.image)`,
		`object.metadata.?labels[?'team'].orValue('') == 'shop'`,
		`object.metadata.?labels.optMap(l, l.size() < 10).orValue(true)`,
		`has(object.metadata.labels) && object.metadata.labels.all(k, v, !k.startsWith('a') || v in ['x', 'y'])`,
		`object.spec.ports.filter(p, p.port < 1024).size() == 0 && object.spec.ports.exists_one(p, p.name == 'web')`,
		`quantity(object.spec.resources.limits.memory).isLessThan(quantity('2Gi'))`,
		`timestamp(object.spec.until) < timestamp('2030-01-01T00:00:00Z') && duration('5m') > duration('1s')`,
		`ip(object.spec.clusterIP).family() == 4 && cidr('10.0.0.0/8').containsIP(object.spec.clusterIP)`,
		`url(object.spec.url).getScheme() == 'https'`,
		`sets.contains(['a', 'b'], object.spec.names) && object.spec.names.isSorted()`,
		`'%s/%d'.format([object.metadata.name, 1]) == object.spec.key`,
		`object.spec.names.join(',').lowerAscii().replace('a', 'b').split(',')[0] == 'b'`,
		`!format.dns1123Label().validate(object.spec.name).hasValue()`,
		`object.data.transformList(k, v, k + v).size() < 5 && object.data.transformMap(k, v, v.size()) == {'a': 1}`,
		`object.kind == 'AuthorityDelegation' || object.spec.a[0].b['c'] == [1, 2, 3]`,
		strings.TrimSuffix(strings.Repeat(`true||`, 666), "||"),
		strings.TrimSuffix(strings.Repeat(`object.spec.a!=1&&`, 100), "&&"),
		`object.spec.name in [` + strings.TrimSuffix(strings.Repeat(`'name',`, 200), ",") + `]`,
	} {
		for _, kind := range []environment.Type{environment.NewExpressions, environment.StoredExpressions} {
			if _, err := conditions.Compile(expression, kind); err != nil {
				t.Errorf("%s: %v", expression, err)
			}
		}
	}
}

// TestCompilesFast checks that the bounds suffice: expressions that are just within them compile with
// few allocations. The type checker copies its type variables, so its allocations grow with its work.
func TestCompilesFast(t *testing.T) {
	for name, expression := range atTheBounds() {
		var err error
		allocations := testing.AllocsPerRun(1, func() { _, err = conditions.Compile(expression, environment.NewExpressions) })
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		t.Logf("%s: %v allocations for %d bytes", name, allocations, len(expression))
		if allocations > 300_000 {
			t.Errorf("%s: takes %v allocations to compile", name, allocations)
		}
	}
}

// longest returns how often an expression may repeat a part, and at most 4096: build returns an
// expression with n repetitions.
func longest(build func(n int) string) int {
	return 1 + sort.Search(4096, func(n int) bool {
		text := build(n + 2)
		return len(text) > 4096 || !accepted(text)
	})
}

func accepted(text string) bool {
	language, err := conditions.languages[environment.NewExpressions]()
	return err == nil && language.judge.Judge(text) == nil
}

// joined returns a function that repeats s.
func joined(s, separator string) func(int) string {
	return func(n int) string { return strings.TrimSuffix(strings.Repeat(s+separator, n), separator) }
}

// around returns a function that puts a 1 between repetitions of open and closing.
func around(open, closing string) func(int) string {
	return func(n int) string { return strings.Repeat(open, n) + `1` + strings.Repeat(closing, n) }
}

// linked returns a function that appends link to start.
func linked(start, link string) func(int) string {
	return func(n int) string { return chain(start, link, n) }
}

// atTheBounds returns for each bound the longest expression that the judge accepts.
func atTheBounds() map[string]string {
	out := map[string]string{}
	for name, build := range map[string]func(int) string{
		"comparisons":        joined(`1==1`, `&&`),
		"orders":             joined(`object<object`, `&&`),
		"sums":               func(n int) string { return joined(`object`, `+`)(n) + `==1` },
		"typed sums":         func(n int) string { return joined(`[1]`, `+`)(n) + `==[1]` },
		"indexes":            func(n int) string { return chain(`object`, `[1]`, n) + `==1` },
		"selections":         func(n int) string { return chain(`object`, `.a`, n) + `==1` },
		"optional selection": func(n int) string { return chain(`object`, `.?a`, n) + `.hasValue()` },
		"empty lists":        joined(`[]==[]`, `&&`),
		"maps":               joined(`{1:[]}=={1:[]}`, `&&`),
		"loops":              joined(`[[]].map(a,[a])==[]`, `&&`),
		"chained loops":      func(n int) string { return chain(`[[]]`, `.map(a,a+a)`, n) + `==[]` },
		"filters":            func(n int) string { return chain(`[[[[[[[]]]]]]]`, `.filter(a,a==[])`, n) + `==[]` },
		"conditionals":       func(n int) string { return strings.Repeat(`true?true:`, n) + `false` },
		"long lists":         func(n int) string { return `1 in [` + joined(`1`, `,`)(n) + `]` },
		"lists of lists":     func(n int) string { return `[` + joined(`[[[[[[]]]]]]`, `,`)(n) + `]==[]` },
		"methods":            func(n int) string { return chain(`object`, `.max()`, n) + `==1` },
		"sets":               joined(`sets.contains([],[])`, `&&`),
		"patterns":           func(n int) string { return `text.matches('(?i)` + strings.Repeat(`[^a-z]{9}`, n) + `')` },
		"two patterns": func(n int) string {
			return joined(`text.matches('(?i)`+strings.Repeat(`a`, n)+`')`, `||`)(2)
		},
	} {
		out[name] = build(longest(build))
	}
	return out
}

// TestBounds checks how many parts of each kind an expression may have. Whoever writes a condition meets
// these bounds, so a change of one is a change of the API.
func TestBounds(t *testing.T) {
	// An expression that has many type variables may have fewer other parts.
	many := joined(`[].all(a,a)`, `&&`)(MaxComprehensions)
	beside := func(build func(int) string) func(int) string {
		return func(n int) string { return many + `&&` + build(n) }
	}
	for _, test := range []struct {
		name  string
		build func(int) string
		want  int
	}{
		{"lists", joined(`[]`, `&&`), MaxAggregates},
		{"maps", joined(`{}`, `&&`), MaxAggregates},
		{"loops", joined(`a.all(a,a)`, `&&`), MaxComprehensions},
		{"optional loops", joined(`a.optMap(a,a)`, `&&`), MaxComprehensions},
		{"loops in the range of a loop", linked(`a`, `.all(a,a)`), MaxComprehensions},
		{"loops inside each other", around(`a.all(a,`, `)`), MaxNesting},
		{"loops inside each other, beside another", func(n int) string {
			return `a.all(a,a)&&` + around(`a.all(a,`, `)`)(n)
		}, MaxNesting},

		{"lists inside each other", around(`[`, `]`), MaxTypeDepth},
		{"lists in a second element", around(`[1,`, `]`), MaxTypeDepth},
		{"lists in a first element", around(`[`, `,1]`), MaxTypeDepth},
		{"maps inside each other", around(`{1:`, `}`), MaxTypeDepth},
		{"maps in a first entry", around(`{1:`, `,2:1}`), MaxTypeDepth},
		{"optional values inside each other", around(`optional.of(`, `)`), MaxTypeDepth},
		{"loops over optional values inside each other", around(`a.optMap(a,`, `)`), MaxTypeDepth},
		{"methods that wrap", linked(`object`, `.first()`), MaxTypeDepth},
		{"unknown methods, which may wrap", linked(`object`, `.x()`), MaxTypeDepth},
		{"chained lists", linked(`[1]`, `.map(a,[a])`), MaxTypeDepth - 1},
		{"chained lists with a condition", linked(`[1]`, `.map(a,[]==a,[a])`), MaxTypeDepth - 1},
		{"chained lists of a field", linked(`[1]`, `.map(a,[a.b])`), MaxTypeDepth - 1},
		{"chained lists of a value", linked(`[1]`, `.transformList(k,v,[v])`), MaxTypeDepth - 1},
		{"chained lists of a key", linked(`[1]`, `.transformList(k,v,[k])`), MaxComprehensions},
		{"chained maps of a value", linked(`{1:1}`, `.transformMap(k,v,{1:v})`), MaxTypeDepth - 1},
		{"chained lists of a variable around", linked(`[1]`, `.map(a,[1].map(b,a))`), MaxTypeDepth - 1},
		{"chained lists of a variable that hides another", linked(`[1]`, `.map(a,[1].map(a,a))`), MaxComprehensions / 2},
		{"chained lists beside an optional value", linked(`[1]`, `.map(a,optional.of(1).optMap(b,a))`), MaxTypeDepth - 1},
		{"chained lists of an optional value", linked(`[1]`, `.map(a,a.optMap(b,b))`), MaxTypeDepth - 1},
		{"chained lists after filters", linked(`[[1]]`, `.filter(a,true).map(a,[a])`), MaxTypeDepth - 2},
		{"lists around the name of an ended loop", func(n int) string {
			return `[[[1]]].all(b,true)==` + strings.Repeat(`[`, n) + `b` + strings.Repeat(`]`, n)
		}, MaxTypeDepth},
		{"lists around the name of an ended optional loop", func(n int) string {
			return `[[[1]]].optMap(b,true)==` + strings.Repeat(`[`, n) + `b` + strings.Repeat(`]`, n)
		}, MaxTypeDepth},

		{"elements of a list without type variables", func(n int) string {
			return `[` + joined(`1`, `,`)(n) + `]`
		}, MaxChecks / 4},
		{"comparisons", joined(`1==1`, `&&`), 310},
		{"orders", beside(joined(`1<1`, `&&`)), 14},
		{"sums", beside(joined(`1`, `+`)), 24},
		{"indexes", beside(joined(`a[1]`, `&&`)), 32},
		{"selections", beside(joined(`object.a`, `&&`)), 111},
		{"methods", beside(joined(`object.max()`, `&&`)), 24},
		{"functions with a prefix", beside(joined(`sets.contains(1,1)`, `&&`)), 89},
		{"unknown methods", beside(joined(`object.x(1)`, `&&`)), 111},
		{"conditionals", beside(joined(`(true?1:1)`, `&&`)), 89},
		{"elements of a list", beside(func(n int) string { return `[` + joined(`1`, `,`)(n) + `]` }), 221},
		{"entries of a map", beside(func(n int) string { return `{` + joined(`1:1`, `,`)(n) + `}` }), 110},
		{"lists and comparisons", beside(func(n int) string {
			return joined(`[]`, `&&`)(n) + `&&` + joined(`1==1`, `&&`)(80)
		}), 10},
		{"maps and comparisons", beside(func(n int) string {
			return joined(`{}`, `&&`)(n) + `&&` + joined(`1==1`, `&&`)(80)
		}), 10},
		{"loops over comparisons", joined(`a.all(a,`+joined(`1==1`, `&&`)(10)+`)`, `&&`), 19},
		{"optional loops over comparisons", joined(`(`+joined(`1==1`, `&&`)(10)+`).optMap(a,a)`, `&&`), 12},

		{"characters of a regular expression", func(n int) string {
			return `text.matches('` + strings.Repeat(`a`, n) + `')`
		}, MaxPatternLength},
		{"characters of two regular expressions", func(n int) string {
			return joined(`text.find('`+strings.Repeat(`a`, n)+`')`, `+`)(2)
		}, MaxPatternsLength / 2},
		{"characters of three regular expressions", func(n int) string {
			return joined(`text.find('`+strings.Repeat(`a`, n)+`')`, `+`)(3)
		}, MaxPatternsLength / 3},
		{"instructions of a regular expression", func(n int) string {
			return fmt.Sprintf(`find(text, '(a{10}){27}%s')`, strings.Repeat(`a`, n))
		}, 18},
		{"digits of a precision", func(n int) string { return `'%.` + strings.Repeat(`9`, n) + `f'.format([1])` }, 2},
	} {
		if !accepted(test.build(test.want)) || accepted(test.build(test.want+1)) {
			t.Errorf("%s: %d are accepted, want %d", test.name, longest(test.build), test.want)
		}
	}
}

// TestEachFunctionIsJudged checks that each function of CEL is either available, with a bound for
// its work, or on this list. If a new version of CEL or Kubernetes adds a function, the test fails.
func TestEachFunctionIsJudged(t *testing.T) {
	refused := []string{
		"in",                    // another name of the operator, which can't be called
		"@sortByAssociatedKeys", // of the macro sortBy
		"allowed", "check", "error", "errored", "fieldSelector", "group", "labelSelector", "name", "namespace",
		"path", "reason", "resource", "serviceAccount", "subresource", // of the variable authorizer
	}
	for _, kind := range []environment.Type{environment.NewExpressions, environment.StoredExpressions} {
		language, err := conditions.languages[kind]()
		if err != nil {
			t.Fatal(err)
		}
		for name := range language.env.Functions() {
			if _, known := available[name]; known == slices.Contains(refused, name) {
				t.Errorf("%s: available: %v", name, known)
			}
		}
		for _, m := range language.env.Macros() {
			_, loop := loops[m.Function()][m.ArgCount()]
			if !loop && !slices.Contains(refusedMacros, m.Function()) && !slices.Contains([]string{"has", "optMap", "optFlatMap"}, m.Function()) {
				t.Errorf("macro %s with %d arguments is not judged", m.Function(), m.ArgCount())
			}
		}
	}
	if _, err := conditions.Compile(`object.check('get') == object`, environment.NewExpressions); err == nil || !strings.Contains(err.Error(), "not available") {
		t.Errorf("a function that is not available: %v", err)
	}
}

// TestStoredParameterExpressions checks that a stored parameter expression that exceeds the bounds
// is still compiled, once, and that a new one is refused.
func TestStoredParameterExpressions(t *testing.T) {
	deep := chain(`[self]`, `.map(a,[a])`, MaxTypeDepth) + `.size() == 1 ? self : ''`
	if _, err := Accepted().Compile(deep); err == nil || !strings.Contains(err.Error(), "too deep") {
		t.Errorf("a new one: %v", err)
	}
	stored := Stored()
	first, err := stored.Compile(deep)
	if err != nil {
		t.Fatal(err)
	}
	if got, _, err := first.Parameter(t.Context(), "a"); err != nil || got != "a" {
		t.Errorf("got %q, %v", got, err)
	}
	if again, err := stored.Compile(deep); err != nil || again != first {
		t.Errorf("compiled again: %v", err)
	}
	for length, compiles := range map[int]bool{MaxLength: true, MaxLength + 1: false} {
		text := deep + strings.Repeat(" ", length-len(deep))
		if _, err := stored.Compile(text); (err == nil) != compiles {
			t.Errorf("%d bytes: %v", len(text), err)
		}
	}
	if err := Exceeds(deep); err == nil {
		t.Error("does not exceed the bounds")
	}
	if err := Exceeds(`self.split('/')[0]`); err != nil {
		t.Error(err)
	}
}

func ExampleDialect_Compile() {
	_, err := conditions.Compile(`[1].map(a, {a: a}) == []`, environment.NewExpressions)
	fmt.Println(err)
	// Output: has a map with a computed key: the keys of a map must be literals
}
