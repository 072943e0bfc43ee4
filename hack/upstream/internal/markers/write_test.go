// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package markers

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const types = `package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Name is a name.
type Name string

type (
	// Grouped is declared with others.
	Grouped struct{ A string }

	Other string
)

// Box is a kind.
// +genclient
type Box struct {
	metav1.TypeMeta ` + "`json:\",inline\"`" + `
	// Metadata of the box.
	metav1.ObjectMeta ` + "`json:\"metadata\"`" + `

	// Spec is what it shall be.
	// +optional
	Spec BoxSpec // ends here
	Status *BoxStatus

	// A comment that stands alone.

	Data map[string]string
	/* another form */
	Names, Others []string
}

type BoxSpec struct {
	*Embedded
	Generic[string]
	// Verb has one already.
	// +permission-verb:"taken"
	Verb string
}
`

// above returns the markers right above the first line that contains mark.
func above(text, mark string) []string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if !strings.Contains(line, mark) {
			continue
		}
		first := i
		for first > 0 && isMarker(lines[first-1]) {
			first--
		}
		return lines[first:i]
	}
	return nil
}

func TestWrite(t *testing.T) {
	verb := func(v string) Field { return Field{Markers: Markers{Verb: v}} }
	for name, tt := range map[string]struct {
		types map[string]Type
		at    string // a text in the line right below the markers
		want  []string
		err   string // a part of the expected error
	}{
		"a type": {
			types: map[string]Type{"Name": {Markers: Markers{ParameterSource: "name"}}},
			at:    "type Name",
			want:  []string{`// +permission-parameter-source:"name"`},
		},
		"a type in a group": {
			types: map[string]Type{"Other": {Markers: Markers{Verb: "v"}}},
			at:    "Other string",
			want:  []string{"\t" + `// +permission-verb:"v"`},
		},
		"a field": {
			types: fields("Box", "Spec", verb("specification")),
			at:    "Spec BoxSpec",
			want:  []string{"\t" + `// +permission-verb:"specification"`},
		},
		"no comment above": {
			types: fields("Box", "Status", verb("status")),
			at:    "Status *BoxStatus",
			want:  []string{"\t" + `// +permission-verb:"status"`},
		},
		"a blank line above": {
			types: fields("Box", "Data", verb("data")),
			at:    "Data map",
			want:  []string{"\t" + `// +permission-verb:"data"`},
		},
		"an embedded field": {
			types: fields("Box", "ObjectMeta", verb("metadata")),
			at:    "metav1.ObjectMeta",
			want:  []string{"\t" + `// +permission-verb:"metadata"`},
		},
		"an embedded pointer": {
			types: fields("BoxSpec", "Embedded", verb("e")),
			at:    "*Embedded",
			want:  []string{"\t" + `// +permission-verb:"e"`},
		},
		"an embedded generic": {
			types: fields("BoxSpec", "Generic", verb("g")),
			at:    "Generic[",
			want:  []string{"\t" + `// +permission-verb:"g"`},
		},
		"all markers in order": {
			types: fields("Box", "Data", Field{Markers: Markers{"s", "e", "p", "v", true, "b", "t", "self.x"}}), at: "Data map",
			want: []string{
				"\t" + `// +permission-scope:"s"`, "\t" + `// +permission-element:"e"`,
				"\t" + `// +permission-parameter-source:"p"`, "\t" + `// +permission-verb:"v"`, "\t" + `// +permission-excluded`,
				"\t" + `// +permission-parameterized-by:"b"`, "\t" + `// +permission-parameter-treatment:t`, "\t" + `// +permission-parameter-expression:"self.x"`,
			},
		},
		"a type elsewhere": {types: map[string]Type{"Elsewhere": {Markers: Markers{Verb: "v"}}}},
		"a field that is gone": {
			types: fields("Box", "Gone", verb("v")),
			err:   "field Box.Gone: the struct has no such field",
		},
		"a field of no struct": {
			types: fields("Name", "A", verb("v")),
			err:   "type Name is not a struct, so it has no fields",
		},
		"fields in one line": {
			types: fields("Box", "Others", verb("v")),
			err:   "field Box.Others: is declared together with others (Names, Others)",
		},
		"a struct in one line": {
			types: fields("Grouped", "A", verb("v")),
			err:   "field Grouped.A: is not at the beginning of a line",
		},
		"a marker that is there": {
			types: fields("BoxSpec", "Verb", verb("v")),
			err:   "field BoxSpec.Verb: has a marker +permission-verb already",
		},
		"another that is there": {
			types: fields("BoxSpec", "Verb", Field{Markers: Markers{Scope: "s"}}),
			at:    "Verb string",
			want:  []string{"\t" + `// +permission-verb:"taken"`, "\t" + `// +permission-scope:"s"`},
		},
		"a type with another name": {
			types: fields("Box", "Data", Field{Retype: &Retype{From: "map[string]string", To: "map[Name]string"}}),
			at:    "Data map[Name]string",
		},
		"not the type it had": {
			types: fields("Box", "Data", Field{Retype: &Retype{From: "map[string]int", To: "x"}}),
			err:   "field Box.Data: has the type map[string]string, want map[string]int",
		},
		"an embedded type's name": {
			types: fields("BoxSpec", "Embedded", Field{Retype: &Retype{From: "*Embedded", To: "*Name"}}),
			err:   "field BoxSpec.Embedded: is embedded",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Write("types.go", []byte(types), tt.types)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("error %v, wanted %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if tt.at != "" && !strings.Contains(string(got), tt.at) {
				t.Fatalf("no line holds %q", tt.at)
			}
			if tt.at != "" {
				if d := cmp.Diff(tt.want, above(string(got), tt.at), cmp.Transformer("none", func(s []string) string { return strings.Join(s, "\n") })); d != "" {
					t.Errorf("markers (-want +got):\n%s", d)
				}
			}
			back, err := Remove("types.go", got, tt.types)
			if err != nil {
				t.Fatal(err)
			}
			if string(back) != types {
				t.Errorf("taken back, the source is another:\n%s", cmp.Diff(types, string(back)))
			}
		})
	}
}

func fields(typ, field string, f Field) map[string]Type {
	return map[string]Type{typ: {Fields: map[string]Field{field: f}}}
}

// TestWriteAllThatCanBe checks that Write writes all markers that it can write, and that the error
// names every marker that it can't write.
func TestWriteAllThatCanBe(t *testing.T) {
	got, err := Write("types.go", []byte(types), map[string]Type{"Box": {Fields: map[string]Field{
		"Gone": {
			Markers: Markers{Verb: "a"}}, "Lost": {Markers: Markers{Verb: "b"}}, "Data": {Markers: Markers{Verb: "c"}},
	}}})
	if err == nil || !strings.Contains(err.Error(), "Box.Gone") || !strings.Contains(err.Error(), "Box.Lost") {
		t.Errorf("error %v names not both", err)
	}
	if !strings.Contains(string(got), `+permission-verb:"c"`) {
		t.Error("the third is not written")
	}
}

func TestRemoveRefuses(t *testing.T) {
	data := fields("Box", "Data", Field{Markers: Markers{Verb: "data"}})
	written, err := Write("types.go", []byte(types), data)
	if err != nil {
		t.Fatal(err)
	}
	for name, edit := range map[string][2]string{
		"another value": {`verb:"data"`, `verb:"more"`},
		"no marker":     {"\t// +permission-verb:\"data\"\n", ""},
		"moved away":    {"verb:\"data\"\n", "verb:\"data\"\n\t// between\n"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Remove("types.go", []byte(strings.Replace(string(written), edit[0], edit[1], 1)), data)
			if err == nil || !strings.Contains(err.Error(), "field Box.Data: these markers are missing right above it") {
				t.Errorf("error %v", err)
			}
		})
	}
}

// FuzzWrite checks for any source that Write adds only lines of markers, and that Remove then
// returns the original source, byte for byte.
func FuzzWrite(f *testing.F) {
	f.Add(types, "Box", "Data", "verb")
	f.Add("package p\r\ntype T struct {\r\n\tA int\r\n}\r\n", "T", "A", "v")
	f.Add("package p; type T struct { A int }", "T", "A", "v")
	f.Add("package p\ntype T struct {\n\tA, B int // c\n\t/* x */ C int\n\n\t// d\n\n\tD int}", "T", "C", "v")
	f.Add("package p\n/*\ntype T struct {\n*/\ntype T struct {\n\tA struct {\n\t\tA int\n\t}\n}", "T", "A", "v")
	f.Fuzz(func(t *testing.T, source, typ, field, verb string) {
		m := map[string]Type{typ: {Markers: Markers{Scope: "s"}, Fields: map[string]Field{field: {Markers: Markers{Verb: verb, ParameterSource: "p"}}}}}
		if !value.MatchString(verb) || len(m[typ].check(typ)) > 0 {
			t.Skip()
		}
		got, err := Write("types.go", []byte(source), m)
		if err != nil {
			t.Skip()
		}
		rest := strings.SplitAfter(source, "\n")
		for line := range strings.Lines(string(got)) {
			switch {
			case len(rest) > 0 && line == rest[0]:
				rest = rest[1:]
			case !isMarker(line):
				t.Fatalf("wrote the line %q", line)
			}
		}
		if left := strings.Join(rest, ""); left != "" {
			t.Errorf("lost %q", left)
		}
		back, err := Remove("types.go", got, m)
		if err != nil {
			t.Fatalf("%v in\n%s", err, got)
		}
		if string(back) != source {
			t.Errorf("%q came back as %q", source, back)
		}
	})
}
