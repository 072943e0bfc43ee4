// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"k8s.io/apiserver/pkg/cel/environment"
)

// anything is a Dialect whose result may have any type.
var anything = NewDialect(cel.DynType, 4096, testBudget,
	cel.Variable("object", cel.DynType), cel.Variable("text", cel.StringType))

// TestCostOfCalls checks what evaluations cost, and that exactly this budget suffices for them. Budgets
// are part of the API, so a change of a cost is a change of the API. The variable text has a thousand
// bytes, and each list and map of object has a hundred entries.
func TestCostOfCalls(t *testing.T) {
	long := strings.Repeat("a", 1000)
	list, names, m, mixed := []any{}, []any{}, map[string]any{}, []any{}
	for i := range 100 {
		list, names = append(list, int64(i)), append(names, strings.Repeat("n", 100))
		m[strings.Repeat("k", 60)+string(rune('a'+i))] = int64(i)
		mixed = append(mixed, []any{int64(i)})
	}
	object := map[string]any{
		"n": int64(3), "k": "a", "text": long, "bytes": []byte(long), "raw": map[string]any{"b": []byte(long)},
		"list": list, "names": names, "map": m, "mixed": mixed,
	}
	for _, test := range []struct {
		text string
		cost int64
	}{
		{`1`, 2},
		{`object`, 3},
		{`object.k`, 4},
		{`object.?k`, 5},
		{`[1, 2, 3]`, 2},
		{`[object.n, object.k]`, 7},
		{`{'a': object.n}`, 6},
		{`{'a': object.n, 'b': object.k}`, 9},
		{`object['k']`, 5},
		{`object[object.k + '']`, 9},
		{`object[?'none']`, 5},
		{`{'a': 1}[?text]`, 108},
		{`object.n == 3 && object.k == 'a'`, 17},
		{`object.n == 3 ? 1 : 2`, 12},
		{`[1, 2, 3].all(a, a > 0)`, 30},
		{`object.list.all(a, a >= 0)`, 807},
		{`object.list.map(a, a + 1)`, 1007},
		{`object.list.filter(a, a == 1)`, 1309},
		{`object.map.all(k, v, v >= 0)`, 807},
		{`object.map.transformMap(k, v, v + 1)`, 1507},
		{`object.map.transformList(k, v, v)`, 707},
		{`optional.of(1).or(optional.of(2))`, 8},
		{`optional.none().orValue(text.size())`, 107},
		{`optional.of(1).orValue(text.size())`, 8},
		{`object.list == object.list`, 313},
		{`object.list != [1]`, 15},
		{`object.list == object.map`, 313},
		{`object.names == object.names`, 913},
		{`object.map == object.map`, 613},
		{`object.bytes == object.bytes`, 70},
		{`optional.of(object.list) == optional.of(object.list)`, 320},
		{`object.raw == object.raw`, 76},
		{`{'a': object.list} == {'a': object.list}`, 326},
		{`url('https://a/b?c=d&e=f').getQuery() == url('https://a/b?c=d&e=f').getQuery()`, 507},
		{`optional.none() == optional.none()`, 8},
		{`object.list.map(a, a) == object.list`, 1016},
		{`object.map.transformMap(k, v, v) == object.map`, 1816},
		{`text < 'b'`, 6},
		{`text < text`, 106},
		{`text.startsWith(text)`, 106},
		{`text in object.names`, 2228},
		{`text in object.map`, 107},
		{`text.size()`, 105},
		{`object.bytes.size()`, 106},
		{`string(object.bytes)`, 106},
		{`text.lowerAscii()`, 105},
		{`text.contains('b')`, 106},
		{`strings.quote(text)`, 307},
		{`text.replace('a', 'bb')`, 607},
		{`text.replace('', text.substring(0, 10))`, 2313},
		{`object.names.join()`, 610},
		{`object.names.join('-')`, 631},
		{`'%s'.format([text])`, 487},
		{`'%f%.3e'.format([1.0, 2.0])`, 926},
		{`text.indexOf('b')`, 126},
		{`text.indexOf(text)`, 20206},
		{`object.list.indexOf(7)`, 208},
		{`object.names.lastIndexOf(text)`, 2228},
		{`text.split('')`, 306},
		{`text + text`, 206},
		{`object.list + object.list`, 208},
		{`(object.list + [1]) + object.list`, 313},
		{`object.list + []`, 107},
		{`object.bytes + object.bytes`, 208},
		{`text.matches('^a+$')`, 606},
		{`text.find('b')`, 206},
		{`text.findAll('b')`, 201206},
		{`text.findAll('b', 0)`, 207},
		{`text.findAll('b', 2)`, 609},
		{`text.findAll('b', object.n)`, 201208},
		{`text.findAll('b', -1)`, 201207},
		{`object.list.sort()`, 4085},
		{`object.list.isSorted()`, 210},
		{`object.list.max()`, 210},
		{`object.list.distinct()`, 10307},
		{`object.mixed.flatten()`, 410},
		{`object.list.slice(0, 10)`, 108},
		{`object.list.first()`, 6},
		{`lists.range(50)`, 55},
		{`lists.range(-1)`, 4},
		{`sets.contains(object.list, [1])`, 519},
		{`sets.intersects(object.list, object.list)`, 20815},
		{`int('12')`, 3},
		{`timestamp('2020-01-01T00:00:00Z').getHours()`, 6},
		{`timestamp('2020-01-01T00:00:00Z').getHours('UTC')`, 1009},
		{`quantity(object.k + '1')`, 18},
		{`quantity('1Gi').add(quantity('1'))`, 29},
		{`url('https://a/b?c=d&e=f').getQuery()`, 242},
		{`url('https://a/b?c=d&e=f').getHost()`, 222},
		{`format.dns1123Label().validate(text)`, 2017},
		{`type(object)`, 5},
	} {
		program, err := anything.Compile(`dyn(`+test.text+`)`, environment.NewExpressions)
		if err != nil {
			t.Errorf("%s: %v", test.text, err)
			continue
		}
		evaluate := func(budget int64) (int64, error) {
			_, cost, err := program.Evaluate(t.Context(), map[string]any{"object": object, "text": long}, budget)
			return cost, err
		}
		cost, whole := evaluate(testBudget)
		if cost != test.cost {
			t.Errorf("%s: costs %d, want %d, %v", test.text, cost, test.cost, whole)
		}
		if again, err := evaluate(cost); again != cost || errors.Is(err, ErrCost) {
			t.Errorf("%s: with a budget of %d it costs %d: %v", test.text, cost, again, err)
		}
		if again, err := evaluate(cost - 1); again != cost-1 || !errors.Is(err, ErrCost) {
			t.Errorf("%s: with a budget of %d it costs %d: %v", test.text, cost-1, again, err)
		}
	}
}

// TestSumsAreFlat checks that a sum of lists is one list, whose elements are found at once.
func TestSumsAreFlat(t *testing.T) {
	program, err := anything.Compile(`dyn(object + object + [1])`, environment.NewExpressions)
	if err != nil {
		t.Fatal(err)
	}
	value, _, err := program.Evaluate(t.Context(), map[string]any{"object": []any{int64(1)}}, testBudget)
	if err != nil {
		t.Fatal(err)
	}
	if all, flat := value.Value().([]ref.Val); !flat || len(all) != 3 {
		t.Errorf("got %#v", value.Value())
	}
}

// TestCommonSizeIsBounded checks that two large values are not visited beyond the limit.
func TestCommonSizeIsBounded(t *testing.T) {
	reads := int64(0)
	elements := slices.Repeat([]ref.Val{types.Int(1)}, 10_000)
	large := counted{types.NewRefValList(types.DefaultTypeAdapter, elements), &reads}
	const most = 100
	if size := commonSize(large, large, most); size <= most || reads > 10*most {
		t.Errorf("%d elements are read to find the size %d", reads, size)
	}
}

// TestWorkOfLongTexts checks how long the arguments may be of calls that parse or match them. Stored
// parameter expressions can compute a regular expression.
func TestWorkOfLongTexts(t *testing.T) {
	text := func(length int) ref.Val { return types.String(strings.Repeat("a", length)) }
	for _, test := range []struct {
		function string
		args     []ref.Val
		want     int64
	}{
		{"matches", []ref.Val{text(10), text(MaxPatternLength)}, 5513},
		{"matches", []ref.Val{text(10), text(MaxPatternLength + 1)}, tooMuch},
		{"matches", []ref.Val{text(10), types.String("(((")}, 4},
		{"findAll", []ref.Val{text(10), text(1)}, 11 * 133},
		{"findAll", []ref.Val{text(10), text(1), types.Int(3)}, 4 * 133},
		{"findAll", []ref.Val{text(10), text(1), types.Int(-1)}, 11 * 133},
		{"int", []ref.Val{text(maxParsed)}, 10 + maxParsed/2},
		{"int", []ref.Val{text(maxParsed + 1)}, tooMuch},
		{"url", []ref.Val{text(maxURL)}, 10 + maxURL/5},
		{"url", []ref.Val{text(maxURL + 1)}, tooMuch},
	} {
		if got := available[test.function].work(test.args, testBudget); got != test.want {
			t.Errorf("%s%v: the work is %d, want %d", test.function, test.args, got, test.want)
		}
	}
}

// TestSizeOfMaps checks that each key and each value of a map counts, of whatever Go type the map is, and
// that the visit ends when the limit is exceeded.
func TestSizeOfMaps(t *testing.T) {
	native := map[string]string{"a": "b", "c": "d", "e": strings.Repeat("f", 100)}
	m := types.NewStringStringMap(types.DefaultTypeAdapter, native)
	if got := sizeOf(m, 1000); got != 1+6+2 {
		t.Errorf("the size is %d", got)
	}
	if got := sizeOf(m, 1); got > 4 {
		t.Errorf("with a limit of 1, the size is %d", got)
	}
}
