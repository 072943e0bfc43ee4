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
		"exclusions":                  {rules: []rbacv1.PolicyRule{rule("apiextensions.k8s.io", "customresourcedefinitions", "granular:permissionExclusion")}},
		"exclusions of all resources": {rules: []rbacv1.PolicyRule{rule("*", "*", "granular:permissionExclusion")}},
		"exclusions of a custom resource": {
			rules: []rbacv1.PolicyRule{rule("example.com", "robots", "granular:permissionExclusion")},
			want:  []string{"rules[0].verbs[0]: granular:permissionExclusion has an effect only on customresourcedefinitions.apiextensions.k8s.io"},
		},
		"exclusions with a parameter": {
			rules: []rbacv1.PolicyRule{rule("apiextensions.k8s.io", "customresourcedefinitions", "granular:permissionExclusion(a)")},
			want:  []string{"rules[0].verbs[0]: granular:permissionExclusion takes no parameter"},
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

// TestBoundedWork checks that Check stops after maxFindings, and that it says so if it skips a role
// that is too large, so that a role of a megabyte does not take much time.
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
	const want = "rules: the role is too large, so its permission verbs were not checked: " +
		"it has 25005000 verbs and pairs of a group and a resource, and at most 20000 are checked"
	if got := Check([]rbacv1.PolicyRule{many}); len(got) != 1 || got[0].String() != want || got[0].Certain {
		t.Errorf("%v in a role that is too large to look at, want %q", got, want)
	}
	if got := Check([]rbacv1.PolicyRule{rule("", "pods", slices.Repeat([]string{"get"}, maxWork)...)}); got != nil {
		t.Errorf("%v in a large role without permissions", got)
	}
	largest := rule("", "pods", append(slices.Repeat([]string{"get"}, maxWork-2), "granular")...)
	if got := Check([]rbacv1.PolicyRule{largest}); got != nil {
		t.Errorf("%v in the largest role that is checked", got)
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

// TestOrdinaryVerbs holds which words in a role with permission verbs are no verbs, and that words that
// another API or authorizer may use are no mistakes.
func TestOrdinaryVerbs(t *testing.T) {
	granular := rule("", "pods", "get", "granular", "granular:labels")
	for name, tc := range map[string]struct {
		rule rbacv1.PolicyRule
		want string
	}{
		"all verbs of requests":         {rule("", "pods", "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "*"), ""},
		"verbs that are asked besides":  {rule("rbac.authorization.k8s.io", "clusterroles", "bind", "escalate"), ""},
		"verbs of signers":              {rule("certificates.k8s.io", "certificatesigningrequests", "approve", "sign", "attest"), ""},
		"a verb of another authorizer":  {rule("", "pods", "use", "attach", "batch-update", "assign", "delegate"), ""},
		"apply of a custom resource":    {rule("example.com", "robots", "apply", "updtae"), ""},
		"apply of one custom resource":  {rbacv1.PolicyRule{APIGroups: []string{"", "example.com"}, Resources: []string{"pods"}, Verbs: []string{"apply"}}, ""},
		"everything":                    {rule("*", "*", "apply"), ""},
		"no resource":                   {rbacv1.PolicyRule{NonResourceURLs: []string{"/apply"}, Verbs: []string{"apply"}}, ""},
		"apply":                         {rule("apps", "deployments", "get", "apply"), `rules[1].verbs[1]: no request has the verb "apply": server-side apply needs patch, and create for new objects`},
		"edit":                          {rule("", "pods", "edit"), `rules[1].verbs[0]: no request has the verb "edit": kubectl edit needs get and patch`},
		"edit of a subresource":         {rule("", "pods/status", "edit"), `rules[1].verbs[0]: no request has the verb "edit": kubectl edit needs get and patch`},
		"two letters in another order":  {rule("", "pods", "updtae"), `rules[1].verbs[0]: no request has the verb "updtae"; did you mean update?`},
		"one letter missing":            {rule("", "secrets", "ptch"), `rules[1].verbs[0]: no request has the verb "ptch"; did you mean patch?`},
		"beside a permission":           {rule("", "pods", "granular", "granular:labels", "pacth"), `rules[1].verbs[2]: no request has the verb "pacth"; did you mean patch?`},
		"a long verb is not compared":   {rule("", "pods", strings.Repeat("update", 50)), ""},
		"another case is another verb":  {rule("", "pods", "GET"), ""},
		"a capital letter is a mistake": {rule("", "pods", "Update"), `rules[1].verbs[0]: no request has the verb "Update"; did you mean update?`},
	} {
		var got []string
		for _, f := range Check([]rbacv1.PolicyRule{granular, tc.rule}) {
			if got = append(got, f.String()); f.Certain {
				t.Errorf("%s: %+v is certain", name, f)
			}
		}
		if strings.Join(got, "\n") != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
		// A role without permission verbs is none of ours.
		if got := Check([]rbacv1.PolicyRule{tc.rule}); name != "beside a permission" && len(got) > 0 {
			t.Errorf("%s without a permission: %v", name, got)
		}
	}
}

// TestOrdinaryVerbsAreBounded holds that a role with many unknown words does not cost a search for each.
func TestOrdinaryVerbsAreBounded(t *testing.T) {
	var verbs []string
	for i := range 15_000 {
		verbs = append(verbs, fmt.Sprintf("word%d", i))
	}
	c := checker{limit: maxFindings}
	resources := rule("", "pods", verbs...)
	c.rule(0, &resources, []rbacv1.PolicyRule{resources})
	if len(c.found) > 0 || c.suggestions != maxSuggestions {
		t.Errorf("%d searches, findings %v", c.suggestions, c.found)
	}
}

// TestOrdinaryVerbsThatAreSearched holds for which words a similar verb is searched: for those that are
// neither verbs nor too long.
func TestOrdinaryVerbsThatAreSearched(t *testing.T) {
	for verb, searches := range map[string]int{
		"get": 0, "granular": 0, "granular:labels": 0, "apply": 0, "word": 1,
		strings.Repeat("a", maxSuggestionLength): 1, strings.Repeat("a", maxSuggestionLength+1): 0,
	} {
		c, resources := checker{limit: maxFindings}, rule("", "pods", verb)
		c.ordinaryVerbs(0, &resources, Resources(&resources))
		if c.suggestions != searches {
			t.Errorf("%s: %d searches, want %d", verb, c.suggestions, searches)
		}
	}
}

// TestEndpointsWithoutFields holds where permission verbs have no effect, because a request changes no
// fields there, and that a rule may name such an endpoint for another verb.
func TestEndpointsWithoutFields(t *testing.T) {
	const noFields = " has no fields, so granular and permission verbs have no effect there"
	all := rule("*", "*", "granular")
	for name, tc := range map[string]struct {
		rule rbacv1.PolicyRule
		want string
	}{
		"status, scale and others":       {rule("", "pods/status,pods/resize,pods/ephemeralcontainers,namespaces/finalize,nodes/status,replicationcontrollers/scale", "granular", "granular:labels"), ""},
		"of a custom resource":           {rule("example.com", "robots/status,robots/scale,robots/arm", "granular", "granular:labels"), ""},
		"a log":                          {rule("", "pods/log", "granular", "granular:labels"), "pods/log" + noFields},
		"a log that is read":             {rule("", "pods,pods/log", "get", "granular", "granular:labels"), ""},
		"a log alone that is read":       {rule("", "pods/log", "get", "granular", "granular:labels"), "pods/log" + noFields},
		"exec":                           {rule("", "pods,pods/exec", "granular", "granular:labels"), "pods/exec" + noFields},
		"exec that is used":              {rule("", "pods,pods/exec", "create", "granular", "granular:labels"), ""},
		"all verbs":                      {rule("", "pods,pods/exec", "*", "granular:labels"), ""},
		"an eviction":                    {rule("", "pods,pods/eviction", "get", "granular", "granular:labels"), "pods/eviction" + noFields},
		"a token":                        {rule("", "serviceaccounts/token", "granular", "granular:labels"), "serviceaccounts/token" + noFields},
		"no subresource":                 {rule("apps", "deployments,deployments/scalee", "granular", "granular:labels"), "deployments.apps/scalee" + noFields},
		"a review":                       {rule("authorization.k8s.io", "subjectaccessreviews", "granular", "granular:specification"), "subjectaccessreviews.authorization.k8s.io" + noFields},
		"finalizers":                     {rule("apps", "deployments,deployments/finalizers", "get", "granular", "granular:labels"), "deployments.apps/finalizers" + noFields + "; only the ordinary verb update has an effect, if the admission plugin OwnerReferencesPermissionEnforcement asks for it"},
		"finalizers of a custom one":     {rule("example.com", "robots,robots/finalizers", "granular", "granular:labels"), "robots.example.com/finalizers" + noFields + "; only the ordinary verb update has an effect, if the admission plugin OwnerReferencesPermissionEnforcement asks for it"},
		"finalizers with update":         {rule("apps", "deployments,deployments/finalizers", "update", "granular", "granular:labels"), ""},
		"only granular":                  {rule("", "pods/exec", "granular"), "pods/exec" + noFields},
		"an ordinary role":               {rule("", "pods/exec,pods/log", "get", "create"), ""},
		"only verbs of protected labels": {rule("", "pods/exec", "granular:protectedLabel(env)"), ""},
	} {
		var got []string
		for _, f := range Check([]rbacv1.PolicyRule{tc.rule, all}) {
			if strings.Contains(f.Message, "has no fields") {
				got = append(got, f.Message)
			}
		}
		if strings.Join(got, "\n") != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
