// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package included

import (
	"strings"
	"testing"

	"kube-granular.dev/granular/registry"
)

func TestOrdinary(t *testing.T) {
	for _, tc := range []struct{ verb, group, resource, want string }{
		{"granular", "apps", "deployments", "update patch"},
		{"granular:replicas", "apps", "deployments", "update patch"},
		{"granular:replicas", "apps", "deployments/scale", "update patch"},
		{"granular:label(example.com)", "", "pods", "update patch"},
		{"granular:label()", "", "pods", "update patch"},
		{"granular:metadata", "", "pods", "update patch create"},
		{"granular:label", "", "pods", ""},
		{"granular:labels(x)", "", "pods", ""},
		{"granular:replicas", "", "pods", ""},
		{"granular:replicas", "apps", "deployments/status/x", ""},
		{"granular:protectedLabel(x)", "", "pods", ""},
		{"granular:example.com/arm", "example.com", "robots", ""},
		{"granular:example.com/addresses", "", "services", ""}, // a FieldPermission may give it
		{"granular", "example.com", "robots", ""},
		{"granular:labels", "*", "*", ""},
		{"granular:labels", "apps", "*", ""},
		{"granular:labels", "apps", "*/scale", ""},
		{"granularity", "apps", "deployments", ""},
		{"readmetadata", "", "secrets", "get list watch"},
		{"readmetadata", "example.com", "robots", "get list watch"},
		{"readmetadata", "*", "*", "get list watch"},
		{"granular:readmetadata", "", "secrets", ""},
		{"update", "apps", "deployments", ""},
		{"*", "apps", "deployments", ""},
		{"", "apps", "deployments", ""},
	} {
		if got := strings.Join(Ordinary(tc.verb, tc.group, tc.resource), " "); got != tc.want {
			t.Errorf("%s of %s.%s: %q, want %q", tc.verb, tc.resource, tc.group, got, tc.want)
		}
	}
}

// TestExcludedIsIncludedNowhere checks that a permission that is excluded, or below an excluded
// one, in one version of a resource is included in nothing, whatever the order of the versions.
func TestExcludedIsIncludedNowhere(t *testing.T) {
	place := func(kind string, above ...string) registry.Place {
		return registry.Place{Path: "." + kind, Kinds: []string{kind}, Above: above}
	}
	of := index(&registry.Registry{
		Kinds: []registry.Kind{{Kind: "v1", Resources: []string{"pears.fruit"}},
			{Kind: "v2", Resources: []string{"pears.fruit"}}, {Kind: "v3", Resources: []string{"pears.fruit"}}},
		Permissions: []registry.Permission{
			{Name: "open", Places: []registry.Place{place("v1"), place("v2")}},
			{Name: "closed", Excluded: true, Places: []registry.Place{place("v2")}},
			{Name: "inside",
				Places: []registry.Place{place("v1", "open"), place("v2", "open", "closed"), place("v3", "open")}},
			{Name: "core", Places: []registry.Place{place("v1", "open"), place("v3")}},
			{Name: "unknown", Places: []registry.Place{place("v1", "nowhere")}},
		},
	})[key{"fruit", "pears"}]
	for name, want := range map[string]int{"open": 2, "closed": 0, "inside": 0, "core": 2, "unknown": 0} {
		if got := len(of.general[name]); got != want {
			t.Errorf("%s: %d places, want %d", name, got, want)
		}
	}
	if above := of.general["core"]; len(above) == 2 && len(above[0])+len(above[1]) != 1 {
		t.Errorf("above core: %v", above)
	}
}
