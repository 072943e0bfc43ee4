// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"context"
	"errors"
	"strings"
	"testing"
)

func TestExpression(t *testing.T) {
	for _, test := range []struct{ expression, key, want, fails string }{
		{expression: `self`, key: "a/b", want: "a/b"},
		{expression: `self.split('/')[0]`, key: "a.com/b", want: "a.com"},
		{expression: `self.startsWith('pool-') ? self.substring(5) : 'none'`, key: "pool-1", want: "1"},
		{expression: `self.lowerAscii()`, key: "GPU", want: "gpu"},
		{expression: `self.find('^[a-z]+')`, key: "abc1", want: "abc"},
		{expression: `optional.of(self).or(optional.of('b')).value()`, key: "a", want: "a"},
		{expression: `optional.of(self).orValue('b')`, key: "a", want: "a"},
		{expression: `self.find('(')`, key: "a", fails: "error parsing regexp"},
		{expression: `self.split('/')[1]`, key: "a.com", fails: "index out of bounds"},
		{expression: `self`, key: "\xff", fails: "not UTF-8"},
		{expression: `self.lowerAscii()`, key: strings.Repeat("A", 10*MaxCost), fails: "cost limit"},
	} {
		for name, language := range map[string]*Language{"accepted": Accepted(), "stored": Stored()} {
			e, err := language.Compile(test.expression)
			if err != nil {
				t.Errorf("%s: %s: %v", name, test.expression, err)
				continue
			}
			got, cost, err := e.Parameter(t.Context(), test.key)
			if cost < EvaluationCost || cost > EvaluationCost+MaxCost {
				t.Errorf("%s: %s costs %d", name, test.expression, cost)
			}
			switch {
			case test.fails == "" && err != nil:
				t.Errorf("%s: %s: %v", name, test.expression, err)
			case test.fails != "" && (err == nil || !strings.Contains(err.Error(), test.fails)):
				t.Errorf("%s: %s: got %q, %v", name, test.expression, got, err)
			case got != test.want:
				t.Errorf("%s: %s gives %q, wanted %q", name, test.expression, got, test.want)
			}
		}
	}
}

func TestRefused(t *testing.T) {
	for _, test := range []struct{ expression, want string }{
		{``, "does not compile"},
		{`self +`, "does not compile: column "},
		{`object.metadata.name`, "does not compile: column 1: undeclared reference to 'object'"},
		{`self.size()`, "must return a string"},
		{`['a']`, "must return a string"},
		{`'` + strings.Repeat("a", MaxLength) + `'`, "is longer than 1024 bytes"},
		{`self.split('').map(a, self.split('').map(b, self.split('').map(c, a + b + c).join('')).join('')).join('')`,
			"is estimated at without bound"},
		{`int('a') == 1 ? 'a' : 'b'`, "does not compile: type conversion error"},
		{`dyn(self).reason()`, "calls reason, which is not available"},
	} {
		if _, err := Accepted().Compile(test.expression); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v", test.expression, err)
		}
	}
}

// TestEstimate checks that an expression whose estimated cost is MaxCost is accepted, and one whose
// cost is higher is not.
func TestEstimate(t *testing.T) {
	build := func(n int) string {
		return `self.split('').all(a,` + joined(`a!=''`, `&&`)(28) + `)&&` + joined(`1==1`, `&&`)(n) + ` ? 'x' : 'y'`
	}
	if _, err := Accepted().Compile(build(107)); err != nil {
		t.Error(err)
	}
	_, err := Accepted().Compile(build(108))
	if err == nil || !strings.Contains(err.Error(), "is estimated at 10001, the limit is 10000") {
		t.Errorf("got %v", err)
	}
}

// TestCosts checks that Parameter reports at least the real cost of an evaluation, so that
// callers can add up costs.
func TestCosts(t *testing.T) {
	const ten = `[1,2,3,4,5,6,7,8,9,0].all(`
	for _, test := range []struct {
		expression, key string
		least           int64
	}{
		{`'x'`, "a", EvaluationCost},
		{`self.split('/')[0]`, "a.com/b", EvaluationCost + 5},
		{ten + `a,` + ten + `b,` + ten + `c,true)))?'x':'y'`, "a", 3000},
		{`self.split('/')[1]`, "a.com", EvaluationCost + 3},                          // fails, because there is no second part
		{`self.lowerAscii()`, strings.Repeat("A", 10*MaxCost), MaxCost},              // exceeds MaxCost
		{`self.lowerAscii()`, strings.Repeat("A", 5*MaxCost), EvaluationCost + 5000}, // does not exceed MaxCost
		{`self`, "\xff", EvaluationCost},
	} {
		e, err := Stored().Compile(test.expression)
		if err != nil {
			t.Fatal(err)
		}
		if _, cost, _ := e.Parameter(t.Context(), test.key); cost < test.least {
			t.Errorf("%s costs %d, wanted at least %d", test.expression, cost, test.least)
		}
	}
}

// TestInterrupted checks that an evaluation ends when its context ends.
func TestInterrupted(t *testing.T) {
	const hundred = `'abcdefghij'.split('').all(a, 'abcdefghij'.split('').all(b, `
	e, err := Stored().Compile(hundred + `'abcdefghij'.split('').all(c, true))) ? 'x' : 'y'`)
	if err != nil {
		t.Fatal(err)
	}
	_, whole, err := e.Parameter(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, cost, err := e.Parameter(ctx, "a"); !errors.Is(err, context.Canceled) || 2*cost > whole {
		t.Errorf("%v, cost %d of %d", err, cost, whole)
	}
}
