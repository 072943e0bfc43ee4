// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCodeAndTags(t *testing.T) {
	const src = "package a\n\n// T is a type.\n// +k8s:deepcopy-gen=true\ntype T struct {\n\t// F is a field.\n\t// +optional\n\tF string `json:\"f\"`\n}\n"
	for name, tt := range map[string]struct {
		other string
		same  bool
	}{
		"prose":                            {"package a\n\n// T is another type.\n// +k8s:deepcopy-gen=true\ntype T struct {\n\t// +optional\n\tF string `json:\"f\"`\n}\n", true},
		"permission marker":                {"package a\n\n// T is a type.\n// +k8s:deepcopy-gen=true\ntype T struct {\n\t// +permission-verb:\"f\"\n\t// F is a field.\n\t// +optional\n\tF string `json:\"f\"`\n}\n", true},
		"tag removed":                      {"package a\n\n// T is a type.\ntype T struct {\n\t// +optional\n\tF string `json:\"f\"`\n}\n", false},
		"field's tag":                      {"package a\n\n// +k8s:deepcopy-gen=true\ntype T struct {\n\t// +required\n\tF string `json:\"f\"`\n}\n", false},
		"type":                             {"package a\n\n// +k8s:deepcopy-gen=true\ntype T struct {\n\t// +optional\n\tF []string `json:\"f\"`\n}\n", false},
		"string that looks like a comment": {"package a\n\n// +k8s:deepcopy-gen=true\ntype T struct {\n\t// +optional\n\tF string `json:\"// f\"`\n}\n", false},
		"build constraint":                 {"//go:build x\n\n" + src, false},
		"not Go":                           {"\"", false},
	} {
		t.Run(name, func(t *testing.T) {
			if same := string(codeAndTags([]byte(src))) == string(codeAndTags([]byte(tt.other))); same != tt.same {
				t.Errorf("seen as the same: %v, want %v\n%s", same, tt.same, codeAndTags([]byte(tt.other)))
			}
		})
	}
}

func TestPlan(t *testing.T) {
	tree := map[string]string{
		"api/v1/doc.go":        "// +k8s:openapi-gen=true\npackage v1\n",
		"api/v1/types.go":      "package v1\n",
		"api/v1/types_test.go": "package v1\n",
		"server/server.go":     "package server\n",
		"sample/v1/types.go":   "// +k8s:openapi-gen=true\npackage v1\n",
		"apply/v1/types.go":    "package v1\n",
	}
	table := []Generator{
		{Name: "code", Tag: regexp.MustCompile(`\+k8s:openapi`), Sees: codeAndTags},
		{Name: "openapi", Tag: regexp.MustCompile(`\+k8s:openapi`), Except: []string{"sample/"}, Patched: true, Sees: func(b []byte) []byte { return b }},
		{Name: "apply", Under: []string{"apply/"}, After: "openapi", Sees: withoutMarkers},
	}
	plan := func(t *testing.T, patches string, changed map[string]string) map[string]string {
		in := Inputs{
			Modules: []string{"m"}, Patches: patches, Changed: map[string][]byte{},
			Pristine: map[string][]byte{},
		}
		for file, data := range tree {
			in.Pristine[file] = []byte(data)
		}
		for file, data := range changed {
			in.Changed[file] = []byte(data)
		}
		return in.Plan(table)
	}
	for name, tt := range map[string]struct {
		patches string
		changed map[string]string
		want    []string
	}{
		"nothing":           {"", nil, nil},
		"not an API":        {"", map[string]string{"server/server.go": "package server // changed\n"}, nil},
		"a test":            {"", map[string]string{"api/v1/types_test.go": "package v1\n\nvar x int\n"}, nil},
		"code":              {"", map[string]string{"api/v1/types.go": "package v1\n\nvar x int\n"}, []string{"code", "openapi"}},
		"a new file":        {"", map[string]string{"api/v1/new.go": "package v1\n"}, []string{"code", "openapi"}},
		"a comment":         {"", map[string]string{"api/v1/types.go": "// Package v1.\npackage v1\n"}, []string{"openapi"}},
		"excepted":          {"", map[string]string{"sample/v1/types.go": "// +k8s:openapi-gen=true\npackage v2\n"}, []string{"code"}},
		"a new API":         {"", map[string]string{"new/v1/doc.go": "// +k8s:openapi-gen=true\npackage v1\n"}, []string{"code", "openapi"}},
		"the tag goes away": {"", map[string]string{"api/v1/doc.go": "package v1\n"}, nil},
		"generator patches": {"p", nil, []string{"openapi"}},
		"by place":          {"", map[string]string{"apply/v1/types.go": "package v2\n"}, []string{"apply"}},
		"by place, marker":  {"", map[string]string{"apply/v1/types.go": "// +permission-verb:\"x\"\npackage v1\n"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			digests := plan(t, tt.patches, tt.changed)
			var got []string
			for _, g := range table {
				if _, ok := digests[g.Name]; ok {
					got = append(got, g.Name)
				}
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if d := cmp.Diff(digests, plan(t, tt.patches, tt.changed)); d != "" {
				t.Errorf("not the same twice:\n%s", d)
			}
		})
	}
	a := plan(t, "p", map[string]string{"apply/v1/types.go": "package v2\n"})
	b := plan(t, "q", map[string]string{"apply/v1/types.go": "package v2\n"})
	if a["openapi"] == b["openapi"] || a["apply"] == b["apply"] {
		t.Error("other patches of a generator do not reach it, or what runs after it")
	}
}

func TestWrittenBy(t *testing.T) {
	for file, want := range map[string]string{
		"pkg/generated/openapi/zz_generated.openapi.go":                                     "openapi-gen",
		"staging/src/k8s.io/api/core/v1/zz_generated.model_name.go":                         "openapi-gen",
		"staging/src/k8s.io/api/core/v1/zz_generated.deepcopy.go":                           "deepcopy-gen",
		"pkg/apis/core/v1/zz_generated.conversion.go":                                       "conversion-gen",
		"pkg/apis/core/v1/zz_generated.defaults.go":                                         "defaulter-gen",
		"staging/src/k8s.io/client-go/applyconfigurations/core/v1/pod.go":                   "applyconfiguration-gen",
		"staging/src/k8s.io/api/core/v1/generated.pb.go":                                    "",
		"staging/src/k8s.io/api/core/v1/types.go":                                           "",
		"staging/src/k8s.io/sample-apiserver/pkg/generated/openapi/zz_generated.openapi.go": "",
	} {
		if got := WrittenBy(file); got != want {
			t.Errorf("%s: got %q, want %q", file, got, want)
		}
	}
	var names []string
	for _, g := range Table {
		if slices.Contains(names, g.Name) {
			t.Errorf("%s: is in the table twice", g.Name)
		}
		if g.After != "" && !slices.Contains(names, g.After) {
			t.Errorf("%s: comes before %s", g.Name, g.After)
		}
		names = append(names, g.Name)
	}
}
