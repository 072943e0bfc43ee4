// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package included

import (
	"testing"

	"kube-granular.dev/granular/registry"
)

// TestIncludesOneKeyOrElement checks which verbs include that of one key or one element: the verb of its
// domain, of the same element, and of all. A verb of another key or element, or by the value, does not.
func TestIncludesOneKeyOrElement(t *testing.T) {
	const image = "granular:podTemplateContainerImage(app)"
	for _, tc := range []struct {
		verb, held string
		want       bool
	}{
		{"granular:label(example.com/team)", "granular:label(example.com)", true},
		{"granular:label(example.com/team)", "granular:label(example.org)", false},
		{"granular:label(example.com/team)", "granular:label(example.com/other)", false},
		{"granular:label(example.com/team)", "granular:labels", true},
		{"granular:label(/team)", "granular:label(team)", true},
		{"granular:label(/team)", "granular:label()", false},
		{"granular:label(example.com)", "granular:label(example.com/team)", false},
		{image, "granular:podTemplateContainer(app)", true},
		{image, "granular:podTemplateContainer(other)", false},
		{image, "granular:podTemplateContainer", false},
		{image, "granular:podTemplateImage", true},
		{image, "granular:podTemplateContainerResources(app)", false},
		{"granular:podTemplateImageFrom(example.com/app)", "granular:podTemplateImage", true},
		{"granular:podTemplateImageFrom(example.com/app)", "granular:podTemplateImageFrom(example.com)", false},
		{"granular:replicas", "granular:specification", true},
		{"granular:replicas", "granular:metadata", false},
	} {
		asked := map[string]int{}
		got := Includes(tc.verb, "apps", "deployments", func(verb string) bool {
			asked[verb]++
			return verb == tc.held
		})
		if got != tc.want {
			t.Errorf("%s includes %s: %t, want %t", tc.held, tc.verb, got, tc.want)
		}
		for verb, times := range asked {
			if times > 1 {
				t.Errorf("%s: asked for %s %d times", tc.verb, verb, times)
			}
		}
	}
}

// TestShare checks that only a permission for the same element includes another one of its chain: not one
// without an element, for another element, or for a value.
func TestShare(t *testing.T) {
	parameter := func(source string) *registry.Parameter { return &registry.Parameter{Source: source} }
	for name, tc := range map[string]struct {
		a, b *registry.Parameter
		want bool
	}{
		"the same element": {parameter("container"), parameter("container"), true},
		"another element":  {parameter("container"), parameter("volume"), false},
		"no element":       {parameter("container"), nil, false},
		"a value":          {parameter("self"), parameter("self"), false},
		"a value inside":   {parameter("self.name"), parameter("self.name"), false},
	} {
		if got := share(tc.a, tc.b); got != tc.want {
			t.Errorf("%s: %t, want %t", name, got, tc.want)
		}
	}
}
