// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package mutate

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// mutated rewrites a package p with one source, and returns its mutants and the rewritten source.
func mutated(t *testing.T, body string) (*Mutated, string) {
	t.Helper()
	root := t.TempDir()
	write(t, filepath.Join(root, "p", "p.go"), "package p\n"+body)
	out, err := Package(root, "p", 0)
	if err != nil {
		t.Fatal(err)
	}
	source := string(out.Sources[filepath.Join(root, "p", "p.go")])
	return out, strings.TrimPrefix(source, "package p\n")
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestOperators holds the rewritten source for each kind of mutation.
func TestOperators(t *testing.T) {
	for _, test := range []struct {
		name, source, want string
		keys               []string
	}{
		{"if", "func f(a bool) { if a { return } }", "func f(a bool) { if (a) != mutantIs(1) { return } }",
			[]string{"f: negated: a"}},
		{"a comparison is negated once", "func f(a int) { if a == 1 { return } }", "func f(a int) { if (a == 1) != mutantIs(1) { return } }",
			[]string{"f: negated: a == 1"}},
		{"for", "func f(a int) { for a < 3 { a++ } }", "func f(a int) { for (mutantLess(2, a , 3)) != mutantIs(1) { if !mutantIs(3) { a++ } } }",
			[]string{"f: negated: a < 3", "f: < to <=: a < 3", "f: removed: a++"}},
		{"the step of a for stays", "func f() { for i := 0; i != 3; i++ { } }", "func f() { for i := 0; (i != 3) != mutantIs(1); i++ { } }",
			[]string{"f: negated: i != 3"}},
		{"and, or", "func f(a, b, c bool) { _ = a && b || c }", "func f(a, b, c bool) { _ = ((((((a) != mutantIs(2) && (b) != mutantIs(2)) != mutantIs(2))) != mutantIs(1) || (c) != mutantIs(1)) != mutantIs(1)) }",
			[]string{"f: || to &&: a && b || c", "f: && to ||: a && b"}},
		{"switch without a value", "func f(a bool) { switch { case a: default: } }", "func f(a bool) { switch { case (a) != mutantIs(1): default: } }",
			[]string{"f: negated: a"}},
		{"switch of a value", "func f(a int) { switch a { case 1: } }", "", nil},
		{"bools returned", "func f(a bool) (int, bool) { return 1, a }", "func f(a bool) (int, bool) { return 1, (a) != mutantIs(1) }",
			[]string{"f: flipped: return 1, a"}},
		{"errors returned", "func f(err error) error { if err != nil { return err }; return nil }",
			"func f(err error) error { if (err != nil) != mutantIs(1) { return mutantDropped(2, err) }; return mutantMade(3, nil) }",
			[]string{"f: negated: err != nil", "f: error to nil: return err", "f: nil to error: return nil"}},
		{"two results handed on", "func g() (*int, error)\nfunc f() (*int, error) { return g() }", "func g() (*int, error)\nfunc f() (*int, error) { return mutantDropped2[*int](1)(g()) }",
			[]string{"f: error to nil: return g()"}},
		{"a function in a function", "func f() func() bool { return func() bool { return true } }", "func f() func() bool { return func() bool { return (true) != mutantIs(1) } }",
			[]string{"f: flipped: return true"}},
		{"statements", "func g()\nfunc f(m map[int]int) { x := 1; m[x] = 2; g(); defer g(); _ = x; panic(1) }",
			"func g()\nfunc f(m map[int]int) { x := 1; if !mutantIs(1) { m[x] = 2 }; if !mutantIs(2) { g() }; if !mutantIs(3) { defer g() }; _ = x; panic(1) }",
			[]string{"f: removed: m[x] = 2", "f: removed: g()", "f: removed: defer g()"}},
		{"methods", "type t struct{}\nfunc (x *t) f() bool { return true }\nfunc (x t) g() bool { return true }",
			"type t struct{}\nfunc (x *t) f() bool { return (true) != mutantIs(1) }\nfunc (x t) g() bool { return (true) != mutantIs(2) }",
			[]string{"(*t).f: flipped: return true", "t.g: flipped: return true"}},
		{"the same twice", "func g()\nfunc f() { g(); g() }", "func g()\nfunc f() { if !mutantIs(1) { g() }; if !mutantIs(2) { g() } }",
			[]string{"f: removed: g()", "f: removed: g() #2"}},
		{"lines stay", "func f(a,\n\tb bool) bool {\n\treturn a &&\n\t\tb\n}", "func f(a,\n\tb bool) bool {\n\treturn ((((a) != mutantIs(2) &&\n\t\t(b) != mutantIs(2)) != mutantIs(2))) != mutantIs(1)\n}",
			[]string{"f: flipped: return a && b", "f: && to ||: a && b"}},
		{"constants", "const a = 1 < 2\nvar b [2]bool\nfunc f() { const c = 1 == 2 }", "", nil},
		{"variables", "var f = func(a bool) bool { return a }", "var f = func(a bool) bool { return (a) != mutantIs(1) }",
			[]string{"f: flipped: return a"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			m, got := mutated(t, test.source)
			if _, err := parser.ParseFile(token.NewFileSet(), "p.go", "package p\n"+got, 0); err != nil && got != "" {
				t.Errorf("does not parse: %v", err)
			}
			if plain := strings.ReplaceAll(test.want, " ", ""); plain != strings.ReplaceAll(got, " ", "") {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
			var keys []string
			for i := range m.Mutants {
				keys = append(keys, strings.TrimPrefix(m.Mutants[i].Key(), "p/p.go: "))
			}
			if diff := cmp.Diff(test.keys, keys); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestPlaces holds that the IDs of a package follow those of the previous package, and that the
// lines of mutants are lines of the original source.
func TestPlaces(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "p", "a.go"), "package p\n\nfunc a() bool {\n\treturn true\n}\n")
	write(t, filepath.Join(root, "p", "b.go"), "package p\n\nfunc b() bool { return true }\n")
	write(t, filepath.Join(root, "p", "b_test.go"), "package p\n\nfunc c() bool { return true }\n")
	m, err := Package(root, "p", 10)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range m.Mutants {
		got = append(got, m.Mutants[i].Where())
		if id := m.Mutants[i].ID; id != 11+i {
			t.Errorf("mutant %d has the ID %d", i, id)
		}
	}
	if diff := cmp.Diff([]string{"p/a.go:4", "p/b.go:3"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := Package(root, "q", 0); err == nil {
		t.Error("a package that is not there")
	}
}
