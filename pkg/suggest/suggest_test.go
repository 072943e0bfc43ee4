// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package suggest

import "testing"

func TestNearest(t *testing.T) {
	all := []string{"data", "finalizers", "image", "label", "labels", "podTemplateImage", "podTemplateImageFrom", "replicas", "specification"}
	deployment := []string{"condition", "conditions", "finalizers", "podTemplate", "podTemplateContainerImage", "podTemplateImage", "podTemplateImageFrom", "replicas", "specification"}
	for _, tt := range []struct {
		text  string
		names []string
		want  string
	}{
		{"imagge", all, "image"},
		{"Replicas", all, "replicas"},
		{"replica", all, "replicas"},
		{"lable", all, "label"},
		{"lables", all, "labels"},
		{"podTemplateimage", all, "podTemplateImage"},
		{"image", all, "image"},
		// The last words of a name.
		{"image", deployment, "podTemplateImage"},
		{"imagge", deployment, "podTemplateImage"},
		{"templateImage", deployment, "podTemplateImage"},
		{"imageFrom", deployment, "podTemplateImageFrom"},
		// The beginning of a name.
		{"spec", deployment, "specification"},
		{"conditio", deployment, "condition"},
		// Nothing is similar.
		{"", all, ""},
		{"x", all, ""},
		{"somethingElse", all, ""},
		{"containers", deployment, ""},
		{"ag", deployment, ""},
		{"mode", []string{"podTemplateNode", "unmade"}, "podTemplateNode"},
		{"moda", []string{"podTemplateNode"}, ""},
		{"image", nil, ""},
	} {
		if got := Nearest(tt.text, tt.names); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.text, got, tt.want)
		}
	}
}

func TestMisspelled(t *testing.T) {
	verbs := []string{"bind", "watch", "create", "update", "patch", "delete"}
	for text, want := range map[string]string{
		"updtae": "update", "updat": "update", "updates": "update", "uptate": "update", "pacth": "patch", "cretae": "create", "wathc": "watch", "atch": "watch",
		// These are no mistakes, or more than one.
		"update": "", "updateall": "", "adtupe": "", "attach": "", "assign": "", "delegate": "", "updatestatus": "", "get": "", "bond": "", "binds": "", "pat": "", "": "", "upgrade": "",
	} {
		if got := Misspelled(text, verbs); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
