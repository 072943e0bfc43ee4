// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package vocabulary

import (
	"slices"
	"strings"
	"testing"
)

func testVocabulary() *Vocabulary {
	return &Vocabulary{
		Permissions: map[string]string{"image": "What a container runs.", "nodeAssignment": "The node."},
		Scopes:      map[string]string{"podTemplate": "a pod template", "pod": "a pod"},
		Nouns:       []string{"image", "assignment", "template", "labels"},
	}
}

func TestMeaning(t *testing.T) {
	tests := map[string]string{
		"image":            "What a container runs.",
		"podTemplateImage": "In a pod template: what a container runs.",
		"podTemplate":      "All of a pod template.",
		"podImage":         "In a pod: what a container runs.",
		"color":            "",
		"podTemplateColor": "",
		"podtemplateImage": "",
	}
	for name, want := range tests {
		got, err := testVocabulary().Meaning(name)
		if (err != nil) != (want == "") || got != want {
			t.Errorf("%s: got %q and %v, wanted %q", name, got, err, want)
		}
	}
}

func TestStyle(t *testing.T) {
	tests := []struct {
		name, kind, ancestors string
		wants                 string
	}{
		{name: "nodeAssignment", kind: "Pod", ancestors: "spec"},
		{name: "podTemplateImage", kind: "Deployment", ancestors: "containers"},
		{name: "labels", kind: "Labels", ancestors: "metadata"},
		{name: "podNodeAssignment", kind: "Pod"}, // pod is a scope, so only nodeAssignment is checked
		{name: "deploymentImage", kind: "Deployment", wants: "contains the name of its kind"},
		{name: "specImage", kind: "Deployment", ancestors: "spec", wants: "contains the name of its parent field"},
		{name: "nodeAssignment", kind: "Pod", ancestors: "node", wants: "contains the name of its parent field"},
		{name: "paused", kind: "Deployment", wants: "not among the nouns"},
		{name: "Image", kind: "Pod", wants: "lower-case"},
		{name: "node_assignment", kind: "Pod", wants: "lowerCamelCase"},
		{name: "spec.image", kind: "Pod", wants: "lowerCamelCase"},
		{name: "example.com/image", kind: "Pod", wants: "no domain"},
	}
	for _, tc := range tests {
		err := testVocabulary().CheckStyle(tc.name, tc.kind, strings.Fields(tc.ancestors))
		if tc.wants == "" && err != nil || tc.wants != "" && (err == nil || !strings.Contains(err.Error(), tc.wants)) {
			t.Errorf("%s in %s below %q: got %v, wanted %q", tc.name, tc.kind, tc.ancestors, err, tc.wants)
		}
	}
}

func TestWords(t *testing.T) {
	for name, want := range map[string]string{"labels": "labels", "nodeAssignment": "node assignment", "podTemplateImage": "pod template image"} {
		if got := Words(name); !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%s: got %q, wanted %q", name, got, want)
		}
	}
}

// TestData holds that the data file can be read and is free of contradictions.
func TestData(t *testing.T) {
	v, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	for name, meaning := range v.Permissions {
		if scope, _ := v.Split(name); scope != "" {
			t.Errorf("%s reads as if it were in the scope %s", name, scope)
		}
		if !strings.HasSuffix(meaning, ".") || strings.Contains(meaning, "\n") || len(meaning) > 120 {
			t.Errorf("%s: the meaning must be one sentence of at most 120 bytes", name)
		}
	}
	for _, u := range v.Uncovered {
		if u.Reason == "" || len(u.Kinds) == 0 || len(u.Fields) == 0 {
			t.Errorf("uncovered %+v: kinds, fields and a reason are needed", u)
		}
	}
	for _, d := range v.Differences {
		if d.Reason == "" {
			t.Errorf("difference %+v: a reason is needed", d)
		}
	}
}
