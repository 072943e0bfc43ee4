// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package rolecheck

import (
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"kube-granular.dev/granular/registry"
)

// TestVerbs holds what is said of one permission verb on one resource, and whether it is certain.
func TestVerbs(t *testing.T) {
	const (
		certain = true
		perhaps = false
	)
	for _, tc := range []struct {
		group, resource, verb string
		certain               bool
		want                  string
	}{
		{"", "pods", "granular:labels", false, ""},
		{"", "pods", "granular:label(example.com)", false, ""},
		{"", "pods", "granular:label()", false, ""},
		{"", "pods", "granular:labels(example.com)", certain, "granular:labels takes no parameter"},
		{"", "pods", "granular:label", certain, "granular:label needs a parameter, the label-key: granular:label(...)"},
		{"", "pods", "granular:condition", certain, "granular:condition needs a parameter, the condition-type: granular:condition(...)"},
		{"", "nodes", "granular:taint", certain, "granular:taint needs a parameter, the value of key: granular:taint(...)"},
		{"", "pods", "granular:imageFrom", certain, "granular:imageFrom needs a parameter, the registry and repository of the image: granular:imageFrom(...)"},
		{"", "pods", "granular:label(example.com/tier)", false, ""},
		{"", "pods", "granular:label(/tier)", false, ""},
		{"", "pods", "granular:label(/example.com/tier)", certain, "granular:label(/example.com/tier) never matches: a parameter that begins with a slash is a label-key without a domain"},
		{"", "pods", "granular:containerImage", certain, "granular:containerImage needs a parameter, the container-name: granular:containerImage(...)"},
		{"", "pods", "granular:containerImage(app)", false, ""},
		{"", "pods", "granular:condition(example.com/Ready)", false, ""},
		{"", "pods", "granular:finalizer(example.com/wait)", false, ""},
		{"", "pods", "granular:imageFrom(registry.example)", false, ""},
		{"", "pods", "granular:imageFrom(registry.example/team/app)", false, ""},
		{"", "pods", "granular:imageFrom(docker.io)", false, ""},
		{"", "pods", "granular:imageFrom(docker.io/library)", false, ""},
		{"", "pods", "granular:imageFrom(team/app)", certain, "granular:imageFrom(team/app) never matches: the parameter is a registry (with a dot, a port or the name localhost) or a prefix of a repository in it, without a tag"},
		{"", "pods", "granular:imageFrom(registry.example/app:v1)", certain, "granular:imageFrom(registry.example/app:v1) never matches: the parameter is a registry (with a dot, a port or the name localhost) or a prefix of a repository in it, without a tag"},
		{"", "pods", "granular:protectedLabel(example.com/tier)", false, ""},
		{"", "pods", "granular:example.com/arm", false, ""}, // a FieldPermission may give it
		{"", "pods", "granular:arm", certain, "no field of these resources has the permission granular:arm"},
		{"", "pods", "granular:label*", certain, "granular:label*: * has no special meaning in a permission verb"},
		{"", "pods", "granular:Labels", certain, `"granular:Labels" is not valid: permission verb: permission: the name must begin with a lower-case letter; did you mean granular:labels?`},
		{"", "pods", " granular:labels", certain, `" granular:labels" is not valid: permission verb: must be "granular" or begin with "granular:"; did you mean granular:labels?`},
		{"example.com", "robots", "granular:labels(x)", certain, "granular:labels takes no parameter"},
		{"example.com", "robots", "granular:replicas(x)", false, ""},
		{"example.com", "robots", "granular:example.com/lables", false, ""},
		{"example.com", "robots", "granular:lables", perhaps, "Kubernetes has no permission granular:lables; did you mean granular:labels?"},
		{"*", "robots", "granular:lables", perhaps, "Kubernetes has no permission granular:lables; did you mean granular:labels?"},
		{"apps", "*", "granular:lables", perhaps, "Kubernetes has no permission granular:lables; did you mean granular:labels?"},
		{"apps", "*/scale", "granular:lables", perhaps, "Kubernetes has no permission granular:lables; did you mean granular:labels?"},
	} {
		found := Check([]rbacv1.PolicyRule{rule(tc.group, tc.resource, "granular", tc.verb)})
		switch {
		case tc.want == "" && len(found) == 0:
		case len(found) != 1 || found[0].Message != tc.want || found[0].Certain != tc.certain || found[0].Rule != 0 || found[0].Verb != 1:
			t.Errorf("%s on %s.%s: %+v, want %q, certain %v", tc.verb, tc.resource, tc.group, found, tc.want, tc.certain)
		}
	}
}

// TestSuggestion holds that of equally similar names always the same one is suggested, and up to
// which length of a name one is looked for.
func TestSuggestion(t *testing.T) {
	named := func(names ...string) permissionSet {
		all := map[string]*registry.Permission{}
		for _, name := range names {
			all[name] = &registry.Permission{Name: name}
		}
		return permissionSet{byResource: []map[string]*registry.Permission{all, all}}
	}
	for range 100 {
		if got := named("cover", "hover", "lover", "mover", "rover").suggestion("granular:xover"); got != "; did you mean granular:cover?" {
			t.Fatalf("suggested: %s", got)
		}
	}
	long := strings.Repeat("a", maxSuggestionLength-1)
	for text, want := range map[string]string{
		"granular:" + long + "x":                  "; did you mean granular:" + long + "b?",
		"granular:" + long + "xx":                 "",
		"granular:" + long + "x(example.com/tier": "; did you mean granular:" + long + "b?",
		" granular:" + long + "x ":                "; did you mean granular:" + long + "b?",
		"granular:c":                              "",
	} {
		if got := named(long + "b").suggestion(text); got != want {
			t.Errorf("for %s: %q, want %q", text, got, want)
		}
	}
}

// TestSourceOf holds how a message names what a parameter is made from.
func TestSourceOf(t *testing.T) {
	for _, tc := range []struct {
		registry.Parameter
		want string
	}{
		{registry.Parameter{Source: "label-key"}, "label-key"},
		{registry.Parameter{Source: "self"}, "value"},
		{registry.Parameter{Source: "self.key"}, "value of key"},
		{registry.Parameter{Source: "selfish"}, "selfish"},
		{registry.Parameter{Source: "self", Treatment: "image-repository-prefix"}, "registry and repository of the image"},
	} {
		if got := sourceOf(&tc.Parameter); got != tc.want {
			t.Errorf("%+v: %q, want %q", tc.Parameter, got, tc.want)
		}
	}
}
