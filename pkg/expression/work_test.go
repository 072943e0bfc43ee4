// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"k8s.io/apiserver/pkg/cel/environment"
)

// large returns an object of about a megabyte, as a write may have it.
func large() map[string]any {
	var list []any
	for range 20_000 {
		list = append(list, map[string]any{"name": "n", "value": int64(1)})
	}
	names := make([]any, 20_000)
	for i := range names {
		names[i] = "name"
	}
	return map[string]any{"list": list, "names": names, "text": strings.Repeat("ab", 500_000), "empty": []any{[]any{}}}
}

// costly are expressions within the bounds whose evaluation would take seconds or gigabytes.
var costly = []string{
	`[1].map(a, [a,a,a,a,a,a,a,a,a,a])` + strings.Repeat(`.map(a, [a,a,a,a,a,a,a,a,a,a])`, 5) + `.all(a, a == a)`,
	`object.names` + strings.Repeat(`.map(a,a+a+a+a)`, 20) + `.size() == 0`,
	`[object.names]` + strings.Repeat(`.map(a,a+a+a+a)`, 20) + `.size() == 0`,
	`[object.names]` + strings.Repeat(`.map(a,a+a)`, 5) + `.all(a, a == object.names)`,
	`lists.range(1000000000).size() == 1`,
	`object.names.join(object.text).size() == 1`,
	`object.text.replace('', object.text).size() == 1`,
	`object.text.replace('a', object.text).size() == 1`,
	`object.names.all(a, object.text.size() > 0)`,
	`object.names.all(a, object.text == object.text)`,
	`object.names.all(a, !(object.text in ['a', 'b']))`,
	`object.names.all(a, !(object.text in object))`,
	`object.names.all(a, object.names.exists(b, has(object.text) && object[object.text] == 1))`,
	`object.names.all(a, !object[?object.text].hasValue())`,
	`object.names.all(a, object.list == object.list)`,
	`object.names.all(a, object.list != object)`,
	`object.names.all(a, object in [object])`,
	`object.names.all(a, object.list in object.list)`,
	`object.names.exists_one(a, object.names.exists_one(b, object.names.exists_one(c, has(object.text))))`,
	`object.list.distinct().size() == 1`,
	`sets.equivalent(object.list, object.list)`,
	`sets.intersects(object.list, object.names)`,
	`object.names.all(a, object.names.isSorted())`,
	`object.names.all(a, object.list.flatten().size() > 0)`,
	`object.names.all(a, object.names.slice(0, 10000).size() > 0)`,
	`object.names.all(a, object.names.sort().size() > 0)`,
	`object.names.all(a, object.names.reverse().size() > 0)`,
	`object.names.all(a, object.names.indexOf('x') < 0)`,
	`object.text.indexOf('ababababababab' + object.text) == 1`,
	`object.text.matches('(a*)*(b*)*(a|b)*c')`,
	`object.names.all(a, object.text.matches('c$') == false)`,
	`object.text.find('((a|b){10}){10}') == ''`,
	`object.text.findAll('a').size() == 1`,
	`object.text.split('').all(a, object.text.split('').size() > 0)`,
	`object.names.all(a, '%s'.format([object]) != '')`,
	`object.names.all(a, object.text.lowerAscii().upperAscii().trim() != '')`,
	`object.names.all(a, strings.quote(object.text) != '')`,
	`object.names.all(a, bytes(object.text) != b'a')`,
	`object.names.all(a, string(bytes(object.text)) != '')`,
	`quantity(object.text).isInteger()`,
	`isQuantity(object.text)`,
	`semver(object.text).major() == 1`,
	`url(object.text).getHost() == ''`,
	`int(object.text) == 1`,
	`object.names.all(a, timestamp('2020-01-01T00:00:00Z').getHours('Europe/Berlin') < 25)`,
	`object.names.all(a, !format.dns1123Label().validate(object.text).hasValue())`,
	`object.list.transformMap(i, v, object.list.transformMap(j, w, w)).size() == 1`,
	`object.names.map(a, object.names.map(b, object.names.map(c, [a, b, c]))).size() == 1`,
	`object.text.substring(0, 20000).findAll('a.*c|a').size() == 1`,
	`object.text.substring(0, 20000).findAll('a.*c|a', object.names.size()).size() == 1`,
	`object.names.all(a, !(object in []))`,
	`object.names.all(a, sets.contains([object], []))`,
	`object.names.all(a, !sets.intersects([], [object]))`,
	`lists.range(40000).all(a, [a` + strings.Repeat(`,1`, 1500) + `].size() > 0)`,
	`[url('http://a/?` + strings.Repeat(`%41%41%41&%42&`, 140) + `')].all(u, lists.range(2200).map(a, u.getQuery()).size() == 1)`,
	`lists.range(20000).all(a, isSemver('1.0.0-` + strings.Repeat(`a.`, 120) + `a'))`,
	`lists.range(20000).all(a, isQuantity('` + strings.Repeat(`1`, 250) + `'))`,
	`lists.range(2200).all(a, '%.99f%.99f%.99f%.99e'.format([1e300, 1e300, 1e300, 1e300]) != '')`,
	`lists.range(4).all(a, strings.quote(object.text) != '')`,
}

// TestCostlyEvaluations checks that the work of each call is bounded before it begins. Without the
// bounds, the slowest of these expressions never ends.
//
// Attack: a condition that compares, formats or joins values that are exponentially large, or searches them again and again
// Answer: 403 after a tenth of a second
// Was: computed for minutes
//
// Attack: a condition with `findAll`, whose matches each read the rest of a long text
// Answer: 403 after a tenth of a second
// Was: computed for minutes
func TestCostlyEvaluations(t *testing.T) {
	object := large()
	for _, text := range costly {
		program, err := conditions.Compile(text, environment.NewExpressions)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var value ref.Val
		var cost int64
		bytes := allocated(func() {
			value, cost, err = program.Evaluate(t.Context(), map[string]any{"object": object, "oldObject": nil, "text": "a"}, testBudget)
		})
		if !errors.Is(err, ErrCost) {
			t.Errorf("%s: %v, cost %d, %v", text, value, cost, err)
		}
		if t.Logf("%d bytes for %s", bytes, text); bytes > maxAllocated {
			t.Errorf("%s: allocated %d bytes: %v", text, bytes, err)
		}
	}
}

// TestEvaluations is the twin of TestCostlyEvaluations: each kind of call still gives its result.
func TestEvaluations(t *testing.T) {
	object := large()
	for _, text := range []string{
		`object.names.all(a, 'a' != object.text)`,
		`object.names.all(a, !object.text.startsWith('b'))`,
		`object.list == object.list && object.text == object.text`,
		`object.names.all(a, a == 'name')`,
		`object.names.filter(a, a == 'name').size() == 20000`,
		`object.names.map(a, a + '1')[19999] == 'name1'`,
		`[1] + [2] + [3] == [1, 2, 3] && ([1] + [])[0] == 1`,
		`'b' in ['a', 'b'] && !('c' in ['a', 'b']) && 'text' in object && 1 in [1, 2]`,
		`object['te' + 'xt'].size() == 1000000 && [1, 2][1] == 2 && object[?'none'].orValue(7) == 7`,
		`['text'].all(k, object[k].startsWith('abab')) && ['none'].all(k, !object[?k].hasValue())`,
		`'abc1'.matches('^[a-z]+[0-9]$') && 'abc1'.find('[0-9]') == '1' && 'a1b2'.findAll('[0-9]', 1) == ['1']`,
		`'a-b'.split('-').join('+') == 'a+b' && 'aa'.replace('a', 'bb', 1) == 'bba' && 'abc'.substring(1, 2) == 'b'`,
		`'%s %d %.2f'.format(['a', 1, 1.5]) == 'a 1 1.50'`,
		`[3, 1, 2].sort() == [1, 2, 3] && [1, 1].distinct() == [1] && [[1], [2]].flatten() == [1, 2] && lists.range(3) == [0, 1, 2]`,
		`[1, 2].max() == 2 && [1, 2].sum() == 3 && [1, 2].first().value() == 1 && [1, 2, 3].slice(1, 2) == [2] && [1, 2].reverse() == [2, 1]`,
		`{'a': 1}.transformMap(k, v, v + 1) == {'a': 2} && {'a': 1}.transformList(k, v, k) == ['a'] && [1].exists(i, v, i == 0 && v == 1)`,
		`optional.of(1).optMap(a, a + 1).value() == 2 && optional.none().or(optional.of(2)).value() == 2`,
		`quantity('1Gi').compareTo(quantity('1024Mi')) == 0 && semver('1.2.3').isLessThan(semver('1.3.0')) && ip('10.0.0.1').family() == 4`,
		`timestamp('2020-01-01T00:00:00Z') + duration('1h') == timestamp('2020-01-01T01:00:00Z') && timestamp('2020-01-01T00:00:00Z').getHours('Europe/Berlin') == 1`,
		`int('1') + 1 == 2 && string(1) == '1' && double('1.5') > 1 && uint(1) == 1u && type(1) == int && dyn(1) == 1 && !false && -1 < 0 && bytes('a') == b'a'`,
		`sets.contains([1, 2], [1]) && sets.equivalent([1], [1, 1]) && sets.intersects([1], [1, 2]) && !sets.intersects([1], [2])`,
		`url('https://a.b/c?d=e').getQuery()['d'] == ['e'] && 'a'.charAt(0) == 'a' && 'abc'.indexOf('c') == 2 && [1, 2].indexOf(2) == 1`,
		`(1 == 1 ? 'a' : 'b') == 'a' && (false || true) && [1, 2].exists_one(a, a == 1) && [[1, 2], [3]].map(a, a.size() > 1, a[0]) == [1]`,
		`!format.dns1123Label().validate('a').hasValue() && strings.quote('a') == '"a"' && 'A'.lowerAscii() == 'a'`,
	} {
		program, err := conditions.Compile(text, environment.NewExpressions)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		variables := map[string]any{"object": object, "oldObject": nil, "text": "a"}
		if value, _, err := program.Evaluate(t.Context(), variables, testBudget); err != nil || value.Value() != true {
			t.Errorf("%s: %v, %v", text, value, err)
		}
	}
}

// TestQuantities checks that a quantity with a large exponent, which a short string can have, is
// refused: the sum of two quantities has as many digits as their exponents differ.
//
// Attack: a condition that adds quantities with exponents of nine digits
// Answer: 403
// Was: computed for minutes, with gigabytes
func TestQuantities(t *testing.T) {
	program, err := conditions.Compile(`quantity(text).add(quantity('1')).compareTo(quantity('1n')) > 0`, environment.NewExpressions)
	if err != nil {
		t.Fatal(err)
	}
	for text, fits := range map[string]bool{
		"1e999999999": false, "1E-999999999": false, "1e+100": false, strings.Repeat("9", 257): false,
		strings.Repeat("9", 251) + "e9999": false,
		strings.Repeat("9", 256):           true, "1e99": true, "1Ei": true, "100m": true,
	} {
		bytes := allocated(func() {
			_, _, err = program.Evaluate(t.Context(), map[string]any{"text": text}, testBudget)
		})
		if fits != (err == nil) || bytes > 1<<20 {
			t.Errorf("%s: %v after %d bytes", text, err, bytes)
		}
	}
}

// counted is a list that counts how many of its elements are read.
type counted struct {
	traits.Lister
	reads *int64
}

func (c counted) Value() any { return c }

func (c counted) Get(index ref.Val) ref.Val {
	*c.reads++
	return c.Lister.Get(index)
}

// TestWalksAreWork checks that a bound is never cheaper than finding it: whatever a function reads of
// its arguments to bound its work counts as work, also if the call itself has nothing to do.
//
// Attack: a condition that asks again and again whether a large object is in an empty list
// Answer: 403 after a tenth of a second
// Was: computed until the clock ended it, after five seconds
func TestWalksAreWork(t *testing.T) {
	const most = 100_000
	reads := int64(0)
	large := counted{types.NewRefValList(types.DefaultTypeAdapter, slices.Repeat([]ref.Val{types.Int(1)}, 10_000)), &reads}
	wrapped := types.NewRefValList(types.DefaultTypeAdapter, []ref.Val{large})
	empty := types.NewRefValList(types.DefaultTypeAdapter, nil)
	for _, args := range [][]ref.Val{
		{large, empty, empty}, {empty, large, empty}, {wrapped, empty, empty}, {empty, wrapped, empty}, {wrapped, wrapped, empty}, {wrapped, types.Int(1), types.Int(1)},
	} {
		for name, f := range available {
			reads = 0
			if work := f.work(args, most); 10*work < reads {
				t.Errorf("%s: reads %d values to find out that the work is %d", name, reads, work)
			}
		}
	}
}
