// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package permission

import (
	"strings"
	"testing"
)

var spellings = []struct {
	text string
	verb Verb
}{
	{"granular", Verb{}},
	{"granular:labels", Verb{Permission: "labels"}},
	{"granular:label()", Verb{Permission: "label", Parameterized: true}},
	{"granular:label(super.safe.com)", Verb{Permission: "label", Parameter: "super.safe.com", Parameterized: true}},
	{"granular:label(a/b-c_d.e:f@g+h=i,j~k)", Verb{Permission: "label", Parameter: "a/b-c_d.e:f@g+h=i,j~k", Parameterized: true}},
	{"granular:label(%28%29%25%2A%20%00%C3%A4)", Verb{Permission: "label", Parameter: "()%* \x00ä", Parameterized: true}},
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

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{
		"", "granula", "granular:", "Granular:labels", " granular", "granular ", "update", "*",
		"granular:Labels", "granular:*", "granular:label*", "granular:1abel", "granular:node_pool", "granular:spec.replicas",
		"granular:label(", "granular:label)", "granular:label(a", "granular:label(a)b", "granular:label(a))", "granular:label((a)",
		"granular:label(*)", "granular:label(a b)", "granular:label(ä)", "granular:label(%)", "granular:label(%4)",
		"granular:label(%2a)", // lower case
		"granular:label(%41)", // stands for A, which needs no escape
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

func TestScoped(t *testing.T) {
	for _, test := range []struct{ scope, permission, want string }{
		{"", "labels", "labels"},
		{"podTemplate", "labels", "podTemplateLabels"},
		{"podTemplate", "example.com/nodePool", "example.com/podTemplateNodePool"},
		{"example.com/cell", "labels", "example.com/cellLabels"},
		{"example.com/cell", "example.org/nodePool", "example.org/cellNodePool"},
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
