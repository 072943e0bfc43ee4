// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package markers

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	in := func(text string) string { return "packages:\n  k8s.io/api/core/v1:\n" + text }
	for name, tt := range map[string]struct{ text, err string }{
		"a field":                {in("    Pod: {fields: {Spec: {verb: specification}}}\n"), ""},
		"a type":                 {in("    Pod: {scope: pod, verb: pod}\n"), ""},
		"an exemption":           {in("    Pod: {exempt: {Spec: nobody writes it}}\n"), ""},
		"two packages, one type": {in("    Pod: {verb: pod}\n  k8s.io/api/core/v2:\n    Pod: {verb: pod}\n"), ""},
		"no package":             {"subject: x\n", "names no package"},
		"not YAML":               {"packages: [", "yaml"},
		"an unknown key":         {in("    Pod: {verbs: pod}\n"), `unknown field`},
		"a field twice":          {in("    Pod: {fields: {Spec: {verb: a}, Spec: {verb: b}}}\n"), `already set`},
		"no import path": {
			"packages:\n  core/v1:\n    Pod: {verb: pod}\n", `"core/v1" is not the import path`,
		},
		"a path that leads out": {"packages:\n  k8s.io/../x:\n    Pod: {verb: pod}\n", "is not the import path"},
		"no name of a type": {
			in("    Pod.Spec: {verb: pod}\n"),
			`k8s.io/api/core/v1: "Pod.Spec" is not the name of a type`,
		},
		"no name of a field": {
			in("    Pod: {fields: {Spec.Name: {verb: a}}}\n"),
			`Pod: "Spec.Name" is not the name of a field`,
		},
		"nothing on a type":  {in("    Pod: {}\n"), "Pod: has no marker and names no field"},
		"nothing on a field": {in("    Pod: {fields: {Spec: {}}}\n"), "Pod.Spec: has no marker"},
		"a quote":            {in("    Pod: {verb: 'a\"b'}\n"), "Pod: verb cannot be written between quotes"},
		"a line end": {
			in("    Pod: {verb: \"a\\nb\"}\n"),
			"Pod: verb cannot be written between quotes",
		},
		"a treatment of two words": {
			in("    Pod: {verb: a, parameterTreatment: b c}\n"),
			"Pod: parameterTreatment is not one word",
		},
		"excluded without a verb": {
			in("    Pod: {scope: a, excluded: true}\n"),
			"Pod: excluded needs a verb beside it",
		},
		"half of an exchange": {
			in("    Pod: {fields: {Spec: {retype: {from: a}}}}\n"),
			"Pod.Spec: retype needs two different names of a type",
		},
		"exempt without any reason": {
			in("    Pod: {exempt: {Spec: ' '}}\n"),
			"Pod.Spec: is exempt, but the reason is missing",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(tt.text))
			if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
				t.Errorf("error %v, wanted %q", err, tt.err)
			}
		})
	}
}

func TestRoots(t *testing.T) {
	const head = "package v1\n\nimport metav1 \"m\"\n\ntype Box struct {\n\tmetav1.TypeMeta\n\tmetav1.ObjectMeta\n\n"
	for name, tt := range map[string]struct {
		files  map[string]string
		exempt map[string]string
		err    string
	}{
		"marked": {
			files: map[string]string{"a.go": head + "\t// +permission-verb:\"data\"\n\tData string\n}\n"},
		},
		"a scope": {
			files: map[string]string{"a.go": head + "\t// +permission-scope:\"data\"\n\tData string\n}\n"},
		},
		"a marked type": {
			files: map[string]string{"a.go": head + "\tData *Data\n}\n", "b.go": "package v1\n\n// +permission-verb:\"data\"\ntype Data struct{}\n"},
		},
		"a type without": {
			files: map[string]string{"a.go": head + "\tData *Data\n}\n", "b.go": "package v1\n\ntype Data struct{}\n"},
			err:   "field Box.Data is at the root of a kind, and no permission covers it",
		},
		"a new root field": {
			files: map[string]string{"a.go": head + "\t// +permission-verb:\"data\"\n\tData string\n\tNew string\n}\n"},
			err:   "field Box.New is at the root of a kind, and no permission covers it",
		},
		"one of two in a line": {
			files:  map[string]string{"a.go": head + "\tA, B string\n}\n"},
			exempt: map[string]string{"A": "why"},
			err:    "field Box.B is at the root",
		},
		"a source is no verb": {
			files: map[string]string{"a.go": head + "\t// +permission-parameter-source:\"a\"\n\tData string\n}\n"},
			err:   "field Box.Data is at the root",
		},
		"a comment set apart": {
			files: map[string]string{"a.go": head + "\t// +permission-verb:\"data\"\n\n\tData string\n}\n"},
			err:   "field Box.Data is at the root",
		},
		"an embedded field": {
			files: map[string]string{"a.go": head + "\tInline\n}\n"},
			err:   "field Box.Inline is at the root",
		},
		"exempt": {
			files:  map[string]string{"a.go": head + "\tData string\n}\n"},
			exempt: map[string]string{"Data": "why"},
		},
		"exempt and marked": {
			files:  map[string]string{"a.go": head + "\t// +permission-verb:\"data\"\n\tData string\n}\n"},
			exempt: map[string]string{"Data": "why"},
			err:    "field Box.Data has a marker, but is also exempt from having one",
		},
		"exempt and gone": {
			files:  map[string]string{"a.go": head + "}\n"},
			exempt: map[string]string{"Data": "why"},
			err:    "field Box.Data is exempt from having a marker, but it is not a field at the root of a kind, so it needs no exemption",
		},
		"a list is no kind": {
			files: map[string]string{"a.go": "package v1\n\ntype BoxList struct {\n\tmetav1.TypeMeta\n\tmetav1.ListMeta\n\tItems []Box\n}\n"},
		},
		"a spec is no kind": {
			files: map[string]string{"a.go": "package v1\n\ntype BoxSpec struct {\n\tA string\n}\n"},
		},
		"a source with a fault": {files: map[string]string{"a.go": "package v1\n\ntype"}, err: "a.go:3"},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string][]byte{}
			for name, text := range tt.files {
				files[name] = []byte(text)
			}
			err := Roots(files, map[string]map[string]string{"Box": tt.exempt})
			if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
				t.Errorf("error %v, wanted %q", err, tt.err)
			}
		})
	}
}

func TestReadable(t *testing.T) {
	for name, tt := range map[string]struct {
		path, text string
		want       bool
	}{
		"types":     {"types.go", "package v1\n", true},
		"a test":    {"types_test.go", "package v1\n", false},
		"generated": {"zz.go", "// Code generated by x. DO NOT EDIT.\n\npackage v1\n", false},
		"no Go":     {"generated.proto", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Readable(tt.path, []byte(tt.text)); got != tt.want {
				t.Errorf("got %t", got)
			}
		})
	}
}
