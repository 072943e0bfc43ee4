// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package rolecheck

import (
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
)

// TestGeneral holds in which rules the verb granular counts for a resource: in each rule that
// names it or everything, with this verb or all verbs.
func TestGeneral(t *testing.T) {
	const missing = "permissions on pods without the verb granular: they have no effect for a subject that holds only this role"
	fields := rule("", "pods", "granular:labels")
	for name, tc := range map[string]struct {
		other rbacv1.PolicyRule
		warns bool
	}{
		"no other rule":           {rbacv1.PolicyRule{}, true},
		"of the resource":         {rule("", "pods", "granular"), false},
		"all verbs":               {rule("", "pods", "*"), false},
		"one of two resources":    {rule("", "pods,secrets", "granular"), false},
		"all resources":           {rule("", "*", "granular"), false},
		"all groups":              {rule("*", "deployments", "granular"), false},
		"another resource":        {rule("", "secrets", "granular"), true},
		"another group":           {rule("apps", "pods", "granular"), true},
		"a subresource":           {rule("", "pods/status", "granular"), true},
		"another verb":            {rule("", "pods", "update"), true},
		"misspelled with a space": {rule("", "pods", " granular"), true},
	} {
		found := Check([]rbacv1.PolicyRule{fields, tc.other})
		found = slices.DeleteFunc(found, func(f Finding) bool { return f.Verb >= 0 })
		if (len(found) == 1) != tc.warns || tc.warns && (found[0].Message != missing || found[0].Certain || found[0].Rule != 0) {
			t.Errorf("%s: %+v, want a warning: %v", name, found, tc.warns)
		}
	}
}

// TestResources holds how the resources of a rule are written, each once.
func TestResources(t *testing.T) {
	for _, tc := range []struct{ groups, resources, want string }{
		{"", "pods", "pods"},
		{"apps", "deployments/scale", "deployments.apps/scale"},
		{",apps", "a,b/c", "a b/c a.apps b.apps/c"},
		{"apps,apps", "a,a", "a.apps"},
		{"*", "a", "*"},
		{"apps", "a,*", "*"},
		{"apps", "*/status", "*"},
	} {
		r := rbacv1.PolicyRule{APIGroups: strings.Split(tc.groups, ","), Resources: strings.Split(tc.resources, ",")}
		if got := strings.Join(Resources(&r), " "); got != tc.want {
			t.Errorf("%s of %q: %q, want %q", tc.resources, tc.groups, got, tc.want)
		}
	}
}

// TestBuiltIn holds which resources are built in, and which of them a name may mean.
func TestBuiltIn(t *testing.T) {
	for resource, want := range map[string]bool{
		"pods": true, "pods/status": true, "deployments.apps": true, "deployments.apps/scale": true,
		"deployments": false, "pods.apps": false, "pods/nothing": false, "": false, "*": false, "robots.example.com": false,
	} {
		if IsBuiltIn(resource) != want {
			t.Errorf("%q: %v, want %v", resource, !want, want)
		}
	}
	groups := Groups()
	for group, want := range map[string]bool{"": true, "apps": true, "rbac.authorization.k8s.io": true, "deployments": false, "example.com": false} {
		if slices.Contains(groups, group) != want {
			t.Errorf("group %q: %v, want %v", group, !want, want)
		}
	}
	for name, want := range map[string]string{
		"deployments": "deployments.apps", "deployment": "deployments.apps", "Deployment": "deployments.apps",
		"pod": "pods", "scale": "", "robots": "", "deployments.apps": "",
	} {
		if got := strings.Join(Meant(name), " "); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	if events := Meant("events"); len(events) != 2 || !slices.Contains(events, "events") || !slices.Contains(events, "events.events.k8s.io") {
		t.Errorf("events: %v", events)
	}
}

// TestWhatIsAPermission holds which verbs make Check look at a role: those that could be meant as
// permission verbs.
func TestWhatIsAPermission(t *testing.T) {
	for verb, want := range map[string]bool{
		"granular": true, " granular": true, "granular:": true, "granular:labels ": true,
		"granularity": false, "update": false, "": false, "*": false, "Granular": false,
	} {
		if IsPermission(verb) != want {
			t.Errorf("%q: %v, want %v", verb, !want, want)
		}
	}
}

// TestLimits holds that a role of exactly the greatest size is looked at, that a greater one is not,
// which one problem says, and that no more is found than is asked for.
func TestLimits(t *testing.T) {
	sized := func(work int) []rbacv1.PolicyRule {
		// One group and one resource are one unit, and each verb is one.
		r := rule("", "pods", "granular:lables")
		for len(r.Verbs)+1 < work {
			r.Verbs = append(r.Verbs, "get")
		}
		return []rbacv1.PolicyRule{r}
	}
	if found := Check(sized(maxWork)); len(found) != 2 {
		t.Errorf("a role of the greatest size: %v", found)
	}
	if found := Check(sized(maxWork + 1)); len(found) != 1 || !strings.Contains(found[0].Message, "too large") {
		t.Errorf("a greater role: %v", found)
	}
	wrong := []rbacv1.PolicyRule{rule("", "pods", "granular:a1", "granular:a2", "granular:a3"), rule("", "secrets", "granular:a1")}
	for limit, want := range []int{0, 1, 2, 3, 4} {
		if got := len(CheckUpTo(wrong, limit)); got != want {
			t.Errorf("up to %d: %d", limit, got)
		}
	}
	if got := len(CheckUpTo(wrong, 100)); got != 6 {
		t.Errorf("all: %d", got)
	}
	if Check(nil) != nil || Check([]rbacv1.PolicyRule{rule("", "pods", "get")}) != nil {
		t.Error("a role without permissions has findings")
	}
}
