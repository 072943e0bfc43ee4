// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package rolecheck

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
)

func rule(group, resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: strings.Split(resource, ","), Verbs: verbs}
}

func TestRoleMistakes(t *testing.T) {
	for name, tc := range map[string]struct {
		rules []rbacv1.PolicyRule
		want  []string
	}{
		"none":                     {rules: []rbacv1.PolicyRule{rule("apps", "deployments,deployments/scale", "get", "granular", "granular:replicas")}},
		"no permission":            {rules: []rbacv1.PolicyRule{rule("apps", "deployments", "get", "updaet")}},
		"granular in another rule": {rules: []rbacv1.PolicyRule{rule("apps", "deployments", "granular:replicas"), rule("apps", "deployments", "granular")}},
		"granular on everything":   {rules: []rbacv1.PolicyRule{rule("apps", "deployments", "granular:replicas"), rule("*", "*", "granular")}},
		"no granular": {
			rules: []rbacv1.PolicyRule{rule("apps", "deployments,deployments/scale", "granular:replicas"),
				rule("apps", "deployments", "granular")},
			want: []string{"rules[0]: permissions on deployments.apps/scale without the verb granular: they have no effect for a subject that holds only this role"},
		},
		"a field of one resource of two": {rules: []rbacv1.PolicyRule{rule("", "pods,configmaps", "granular", "granular:image")}},
		"a field of neither": {
			rules: []rbacv1.PolicyRule{rule("", "secrets,configmaps", "granular", "granular:image")},
			want:  []string{"rules[0].verbs[1]: no field of these resources has the permission granular:image"},
		},
		"of a custom resource": {rules: []rbacv1.PolicyRule{rule("example.com", "robots", "granular", "granular:arm", "granular:example.com/arm", "granular:condition(Ready)")}},
		"of a custom resource, misspelled": {
			rules: []rbacv1.PolicyRule{rule("example.com", "robots", "granular", "granular:lables")},
			want:  []string{"rules[0].verbs[1]: Kubernetes has no permission granular:lables; did you mean granular:labels?"},
		},
		"of a custom resource, without its parameter": {
			rules: []rbacv1.PolicyRule{rule("example.com", "robots", "granular", "granular:label")},
			want:  []string{"rules[0].verbs[1]: granular:label needs a parameter, the label-key: granular:label(...)"},
		},
		"a space": {
			rules: []rbacv1.PolicyRule{rule("", "pods", "granular ", "granular:labels")},
			want: []string{
				`rules[0].verbs[0]: "granular " has a leading or trailing space and matches nothing`,
				"rules[0]: permissions on pods without the verb granular: they have no effect for a subject that holds only this role",
			},
		},
		"protected":       {rules: []rbacv1.PolicyRule{rule("", "pods", "granular", "granular:protectedLabel(example.com/a)")}},
		"protected alone": {rules: []rbacv1.PolicyRule{rule("", "pods", "granular:protectedAnnotation(example.com/a)")}},
		"protected, and a field": {
			rules: []rbacv1.PolicyRule{rule("", "pods", "granular:protectedLabel(example.com/a)", "granular:labels")},
			want:  []string{"rules[0]: permissions on pods without the verb granular: they have no effect for a subject that holds only this role"},
		},
		"a long verb is not compared": {
			rules: []rbacv1.PolicyRule{rule("", "pods", "granular", "granular:"+strings.Repeat("a", 200))},
			want:  []string{`rules[0].verbs[1]: "granular:` + strings.Repeat("a", 200) + `" is not valid: permission verb: permission: the name is longer than 63 bytes`},
		},
	} {
		var got []string
		for _, f := range Check(tc.rules) {
			got = append(got, f.String())
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestBoundedWork checks that Check stops after maxFindings, and skips a role that is too large,
// so that a role of a megabyte does not take much time.
func TestBoundedWork(t *testing.T) {
	var verbs []string
	for i := range 5000 {
		verbs = append(verbs, fmt.Sprintf("granular:imag%d", i))
	}
	if got := len(Check([]rbacv1.PolicyRule{rule("", "pods", append(verbs, "granular")...)})); got != maxFindings {
		t.Errorf("%d mistakes, want %d", got, maxFindings)
	}
	many := rule("", strings.Join(slices.Repeat([]string{"pods"}, 5000), ","), verbs...)
	many.APIGroups = slices.Repeat([]string{""}, 5000)
	if got := Check([]rbacv1.PolicyRule{many}); got != nil {
		t.Errorf("%d mistakes in a role that is too large to look at", len(got))
	}
}

func TestRolesWithoutPermissionsCostNothing(t *testing.T) {
	rules := []rbacv1.PolicyRule{rule("apps", "deployments", "get", "list", "update"), rule("*", "*", "*")}
	if n := testing.AllocsPerRun(100, func() { Check(rules) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestSuggestionsAreBounded checks that a role with many unknown verbs, about which there is nothing
// to say, does not cost a search for each of them.
//
// Attack: a role with thousands of permission verbs of custom resources, each compared with all known verbs
// Answer: only few verbs are compared
func TestSuggestionsAreBounded(t *testing.T) {
	for name, verb := range map[string]func(i int) string{
		"of one domain":     func(int) string { return "granular:example.com/leftArm" },
		"without a domain":  func(i int) string { return fmt.Sprintf("granular:%szzz%d", strings.Repeat("q", 50), i) },
		"of custom domains": func(i int) string { return fmt.Sprintf("granular:example.com/zzz%d", i) },
	} {
		verbs := []string{"get", "granular"}
		for i := range 15_000 {
			verbs = append(verbs, verb(i))
		}
		resources := rule("example.com", "robots", verbs...)
		c := checker{limit: maxFindings}
		c.rule(0, &resources, []rbacv1.PolicyRule{resources})
		searches := 0 // a verb with a domain may be that of a custom resource
		if name == "without a domain" {
			searches = maxSuggestions
		}
		if len(c.found) > 0 || c.suggestions != searches {
			t.Errorf("%s: %d searches, findings %v", name, c.suggestions, c.found)
		}
	}
}
