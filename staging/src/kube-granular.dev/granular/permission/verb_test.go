// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package permission

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

var spellings = []struct {
	text string
	verb Verb
}{
	{"granular", Verb{}},
	{"granular:labels", Verb{Permission: "labels"}},
	{"granular:label()", Verb{Permission: "label", Parameterized: true}},
	{"granular:label(super.safe.com)", Verb{Permission: "label", Parameter: "super.safe.com", Parameterized: true}},
	{"granular:label(a/b-c_d.e:f@g+h=i,j~k)",
		Verb{Permission: "label", Parameter: "a/b-c_d.e:f@g+h=i,j~k", Parameterized: true}},
	{"granular:label(%28%29%25%2A%20%00%C3%A4)",
		Verb{Permission: "label", Parameter: "()%* \x00ä", Parameterized: true}},
	{"granular:label(granular:labels)", Verb{Permission: "label", Parameter: "granular:labels", Parameterized: true}},
	{"granular:example.com/nodePool", Verb{Permission: "example.com/nodePool"}},
	{"granular:example.com/granular", Verb{Permission: "example.com/granular"}},
	{"granular:granularity", Verb{Permission: "granularity"}},
	{"granular:a-1.b/c(x)", Verb{Permission: "a-1.b/c", Parameter: "x", Parameterized: true}},
}

func TestSpelling(t *testing.T) {
	for _, s := range spellings {
		if got := s.verb.String(); got != s.text {
			t.Errorf("%+v is spelled %s, want %s", s.verb, got, s.text)
		}
		if got, err := Parse(s.text); err != nil || got != s.verb {
			t.Errorf("%s is read as %+v, %v", s.text, got, err)
		}
	}
}

func TestIsVerb(t *testing.T) {
	for text, want := range map[string]bool{
		"granular": true, "granular:": true, "granular:labels": true, "granular:label(a)": true, "granular:Not valid": true,
		"": false, "granula": false, "granularity": false, "Granular": false, " granular": false, "granular ": false, "update": false, "*": false,
	} {
		if got := IsVerb(text); got != want {
			t.Errorf("%q: %t, want %t", text, got, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{
		"", "granula", "granular:", "Granular:labels", " granular", "granular ", "update", "*",
		"granular:Labels", "granular:*", "granular:label*", "granular:1abel", "granular:node_pool", "granular:spec.replicas",
		"granular:label(", "granular:label)", "granular:label(a", "granular:label(a)b", "granular:label(a))", "granular:label((a)",
		"granular:label(*)", "granular:label(a b)", "granular:label(ä)", "granular:label(%)", "granular:label(%4)",
		"granular:label(%20 )", "granular:label(%28()", "granular:label(%2A*)",
		"granular:label(%2a)", // hexadecimal digits in lower case
		"granular:label(%41)", // escapes the letter A, which must not be escaped
		"granular:label(%zz)", "granular:(a)", "granular:granular:labels",
		"granular:granular", "granular:granular(a)", "granular:granular()",
		"granular:com/nodePool", "granular:/nodePool", "granular:example.com/", "granular:example.com/a/b",
		"granular:Example.com/nodePool", "granular:-a.com/nodePool", "granular:a-.com/nodePool", "granular:a..com/nodePool",
		"granular:" + strings.Repeat("a", MaxNameLength+1),
		"granular:" + strings.Repeat("a", MaxDomainLength) + ".b/c",
	} {
		if v, err := Parse(text); err == nil {
			t.Errorf("%q is read as %+v", text, v)
		} else if len(text) > 20 && strings.Contains(err.Error(), text[9:]) {
			t.Errorf("the error repeats the input: %v", err)
		}
	}
}

// TestTooLong checks that a parameter may have exactly MaxParameterLength bytes after escaping,
// and not more.
func TestTooLong(t *testing.T) {
	for _, test := range []struct {
		name, parameter string
		fits            bool
		head            string
	}{
		{"as long as it may be", strings.Repeat("a", MaxParameterLength), true, strings.Repeat("a", 64)},
		{"one byte longer", strings.Repeat("a", MaxParameterLength+1), false, strings.Repeat("a", 64)},
		{"escaped, as long as it may be", strings.Repeat("*", 85) + "a", true, strings.Repeat("%2A", 21)},
		{"escaped, longer", strings.Repeat("*", 86), false, strings.Repeat("%2A", 21)},
		{"longer by the last byte's escape", strings.Repeat("a", MaxParameterLength-1) + "*", false,
			strings.Repeat("a", 64)},
		{"characters", strings.Repeat("ä", 43), false, strings.Repeat("%C3%A4", 10)},
		{"a character that does not fit", strings.Repeat("a", 60) + "\u20ac" + strings.Repeat("a", 400), false,
			strings.Repeat("a", 60)},
		{"no characters", strings.Repeat("\xc3", 86), false, strings.Repeat("%C3", 21)},
		{"none", "", true, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			if err := CheckParameter(test.parameter); (err == nil) != test.fits || err != nil && !errors.Is(err, ErrTooLong) {
				t.Errorf("got %v", err)
			}
			v := Verb{Permission: "label", Parameter: test.parameter, Parameterized: true}
			if got, err := Parse(v.String()); (err == nil) != test.fits || test.fits && got != v || err != nil && !errors.Is(err, ErrTooLong) {
				t.Errorf("read as %+v, %v", got, err)
			}
			if got := Head(test.parameter, 64); got != test.head {
				t.Errorf("begins with %s", got)
			}
		})
	}
}

func TestScoped(t *testing.T) {
	for _, test := range []struct{ scope, permission, want string }{
		{"", "labels", "labels"},
		{"podTemplate", "labels", "podTemplateLabels"},
		{"podTemplate", "example.com/nodePool", "example.com/podTemplateNodePool"},
		{"example.com/cell", "labels", "example.com/cellLabels"},
		{"example.com/cell", "example.org/nodePool", "example.org/cellNodePool"},
		{"podTemplate", "a", "podTemplateA"},
		{"podTemplate", "z", "podTemplateZ"},
		{"podTemplate", "", "podTemplate"},
		{"podTemplate", "Labels", "podTemplateLabels"},
	} {
		got := Scoped(test.scope, test.permission)
		if got != test.want {
			t.Errorf("%s in %s is %s, want %s", test.permission, test.scope, got, test.want)
		}
		if err := Validate(got); err != nil {
			t.Error(err)
		}
	}
}

func TestTreatment(t *testing.T) {
	for _, test := range []struct{ treatment, key, want string }{
		{"", "a.com/b/c", "a.com/b/c"},
		{"slash-delimited-prefix", "a.com/b/c", "a.com"},
		{"slash-delimited-prefix", "a.com", "a.com"},
		{"slash-delimited-prefix", "/a", ""},
		{"slash-delimited-prefix", "", ""},
	} {
		treatment, err := ParseTreatment(test.treatment)
		if err != nil {
			t.Fatal(err)
		}
		if got := treatment.Apply(test.key); got != test.want {
			t.Errorf("%s of %s is %s, want %s", test.treatment, test.key, got, test.want)
		}
	}
	if _, err := ParseTreatment("Slash-Delimited-Prefix"); err == nil {
		t.Error("an unknown treatment is accepted")
	}
}

// TestExact checks the parameters that stand for one key, and that Key finds the key again.
func TestExact(t *testing.T) {
	for _, test := range []struct{ key, want string }{
		{"a.com/b", "a.com/b"}, {"a.com/b/c", "a.com/b/c"}, {"a", "/a"}, {"a.com", "/a.com"}, {"", "/"}, {"/a", "//a"}, {"//a", "///a"}, {"a/", "a/"},
	} {
		got, ok := SlashDelimitedPrefix.Exact(test.key)
		if key, known := SlashDelimitedPrefix.Key(got); got != test.want || !ok || key != test.key || !known {
			t.Errorf("%q yields %q, which is for %q", test.key, got, key)
		}
		for _, other := range []Treatment{Verbatim, ImageRepositoryPrefix} {
			if got, ok := other.Exact(test.key); ok {
				t.Errorf("%q yields %q", test.key, got)
			}
			if key, known := other.Key(test.want); known {
				t.Errorf("%q is for %q", test.want, key)
			}
		}
	}
	for _, parameter := range []string{"", "a", "a.com", "/a/b", "/a.com/b"} {
		if key, known := SlashDelimitedPrefix.Key(parameter); known {
			t.Errorf("%q is for %q", parameter, key)
		}
	}
}

// FuzzExact checks that the parameter of one key is for no other key and for no prefix.
func FuzzExact(f *testing.F) {
	f.Add("a.com/b", "a.com")
	f.Add("/a", "a")
	f.Fuzz(func(t *testing.T, key, other string) {
		mine, _ := SlashDelimitedPrefix.Exact(key)
		theirs, _ := SlashDelimitedPrefix.Exact(other)
		if (mine == theirs) != (key == other) || mine == SlashDelimitedPrefix.Apply(other) {
			t.Errorf("%q and %q yield %q and %q", key, other, mine, theirs)
		}
		if back, known := SlashDelimitedPrefix.Key(mine); back != key || !known {
			t.Errorf("%q yields %q, which is for %q", key, mine, back)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range spellings {
		f.Add(s.text)
	}
	f.Add("granular:label(%2a)")
	f.Fuzz(func(t *testing.T, text string) {
		v, err := Parse(text)
		if err != nil {
			return
		}
		if got := v.String(); got != text {
			t.Errorf("%q is printed as %q", text, got)
		}
	})
}

func FuzzPrint(f *testing.F) {
	f.Add("label", "super.safe.com", true)
	f.Add("example.com/nodePool", "()%*", true)
	f.Add("labels", "", false)
	f.Fuzz(func(t *testing.T, name, parameter string, parameterized bool) {
		if Validate(name) != nil {
			return
		}
		v := Verb{Permission: name, Parameterized: parameterized}
		if parameterized {
			v.Parameter = parameter
		}
		text := v.String()
		if CheckParameter(v.Parameter) != nil {
			if _, err := Parse(text); !errors.Is(err, ErrTooLong) {
				t.Errorf("a verb of %d bytes is read: %v", len(text), err)
			}
			return
		}
		if len(text) > len(prefix)+MaxDomainLength+1+MaxNameLength+MaxParameterLength+2 {
			t.Errorf("a verb of %d bytes", len(text))
		}
		if got, err := Parse(text); err != nil || got != v {
			t.Errorf("%+v, spelled %q, is read as %+v, %v", v, text, got, err)
		}
		for i := range len(text) {
			if c := text[i]; c <= ' ' || c >= 0x7f || c == '*' {
				t.Errorf("%q holds the byte %x", text, c)
			}
		}
	})
}

// FuzzHead checks that the beginning of a parameter fits, does not end inside an escape or a
// character, and is as long as possible.
func FuzzHead(f *testing.F) {
	f.Add("a€*b", 5)
	f.Add(strings.Repeat("ä", 100), 64)
	f.Fuzz(func(t *testing.T, parameter string, limit int) {
		if limit %= 300; limit < 0 {
			limit = -limit
		}
		head := Head(parameter, limit)
		raw, err := unescape(head)
		if err != nil || len(head) > limit || !strings.HasPrefix(parameter, raw) {
			t.Fatalf("%q to %d bytes is %q: %v", parameter, limit, head, err)
		}
		if utf8.ValidString(parameter) && !utf8.ValidString(raw) {
			t.Errorf("%q to %d bytes is %q, which ends inside a character", parameter, limit, head)
		}
		if len(raw) < len(parameter) && len(head)+3*utf8.UTFMax <= limit {
			t.Errorf("%q to %d bytes is %q", parameter, limit, head)
		}
	})
}
