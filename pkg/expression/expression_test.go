// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package expression

import (
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
			got, err := e.Parameter(test.key)
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
		{`self.size()`, "must give a string"},
		{`['a']`, "must give a string"},
		{`'` + strings.Repeat("a", MaxLength) + `'`, "is longer than 1024 bytes"},
		{`self.split('').map(a, self.split('').map(b, self.split('').map(c, a + b + c).join('')).join('')).join('')`, "is too costly"},
	} {
		if _, err := Accepted().Compile(test.expression); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v", test.expression, err)
		}
	}
}

func BenchmarkParameter(b *testing.B) {
	e, err := Stored().Compile(`self.split('/')[0]`)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.Parameter("example.com/name"); err != nil {
			b.Fatal(err)
		}
	}
}
