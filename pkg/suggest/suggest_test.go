// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package suggest

import "testing"

func TestNearTo(t *testing.T) {
	names := []string{"image", "labels", "label", "replicas", "podTemplateImage"}
	for text, want := range map[string]string{
		"imagge": "image", "Replicas": "replicas", "replica": "replicas", "lable": "label", "lables": "labels", "podTemplateimage": "podTemplateImage",
		"": "", "x": "", "somethingElse": "", "image": "image",
	} {
		if got := Nearest(text, names); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
