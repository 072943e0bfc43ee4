// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package remedy

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kube-granular.dev/granular/schema"
	"kube-granular.dev/pkg/cli/denial"
	"kube-granular.dev/pkg/cli/kinds"
)

// unknown are the kinds of a server that has none of the refusal.
type unknown struct{}

func (unknown) Lookup(string, string) (*kinds.Kind, error)       { return nil, kinds.ErrNoPermissions }
func (unknown) TreeOf(*kinds.Kind, string) (*schema.Tree, error) { return nil, kinds.ErrNoPermissions }

// TestSmallestRemedy checks that a remedy allows the refused request and nothing else: its verbs, its resource and
// object, and its namespace; or binds the role that a protected label requires; or is advice.
//
// Attack: somebody asks for the resource *, is refused, and the role that would help allows everything
// Was: that role was suggested
// Answer: such a request gets advice, never a rule
func TestSmallestRemedy(t *testing.T) {
	jane := func(d denial.Denial) denial.Denial {
		d.User = "jane"
		return d
	}
	const fields, all = "granular:replicas", "stands for everything"
	for name, tc := range map[string]struct {
		refused denial.Denial
		// rule is the one rule of the role, and binding is what binds it.
		rule    map[string]any
		binding string
		advice  string
		says    string
	}{
		"a field of an object": {
			jane(denial.Denial{Resource: "deployments.apps", Name: "web", Namespace: "shop", Field: ".spec.replicas",
				Verbs: []string{fields, "granular:specification"}}),
			map[string]any{"apiGroups": []any{"apps"}, "resources": []any{"deployments"}, "resourceNames": []any{"web"}, "verbs": []any{fields}},
			"RoleBinding shop Role User jane", "", "granular:specification would be sufficient too, but covers more fields",
		},
		"a field through a subresource": {
			jane(denial.Denial{Resource: "deployments.apps", Subresource: "scale", Name: "web", Namespace: "shop",
				Field: ".spec.replicas", Verbs: []string{fields}}),
			map[string]any{"apiGroups": []any{"apps"}, "resources": []any{"deployments/scale"}, "resourceNames": []any{"web"},
				"verbs": []any{fields}},
			"RoleBinding shop Role User jane", "", "jane may not change .spec.replicas",
		},
		"values that need several verbs": {
			jane(denial.Denial{Resource: "robots.example.com", Name: "a", Field: ".spec.mode", Verbs: []string{"granular:mode(a)"},
				Together: []string{"granular:mode(a)", "granular:mode(b)"}}),
			map[string]any{"apiGroups": []any{"example.com"}, "resources": []any{"robots"}, "resourceNames": []any{"a"},
				"verbs": []any{"granular:mode(a)", "granular:mode(b)"}},
			"ClusterRoleBinding  ClusterRole User jane", "", "It needs both granular:mode(a) and granular:mode(b)",
		},
		"a read": {
			jane(denial.Denial{Resource: "pods", Name: "a", Namespace: "shop", Ordinary: "get"}),
			map[string]any{"apiGroups": []any{""}, "resources": []any{"pods"}, "resourceNames": []any{"a"}, "verbs": []any{"get"}},
			"RoleBinding shop Role User jane", "", "No permission of a field replaces this verb",
		},
		"a create of an object, which has no name yet": {
			jane(denial.Denial{Resource: "tokenreviews.authentication.k8s.io", Name: "a", Ordinary: "create", Subresource: ""}),
			nil, "", "holds neither create nor granular", "",
		},
		"a create of a subresource, which has the name of its object": {
			jane(denial.Denial{Resource: "pods", Subresource: "eviction", Name: "a", Namespace: "shop", Ordinary: "create"}),
			map[string]any{"apiGroups": []any{""}, "resources": []any{"pods/eviction"}, "resourceNames": []any{"a"}, "verbs": []any{"create"}},
			"RoleBinding shop Role User jane", "", "jane may not create pods \"a\"",
		},
		"a service account": {
			denial.Denial{User: "system:serviceaccount:ci:robot", Resource: "pods", Name: "a", Namespace: "shop", Ordinary: "get"},
			map[string]any{"apiGroups": []any{""}, "resources": []any{"pods"}, "resourceNames": []any{"a"}, "verbs": []any{"get"}},
			"RoleBinding shop Role ServiceAccount robot", "", "--serviceaccount=ci:robot",
		},
		"a label that is protected in a namespace": {
			jane(denial.Denial{Resource: "pods", Name: "a", Namespace: "shop", Field: ".metadata.labels[env]", Protected: "label",
				ProtectedIn: "shop",
				Roles:       []denial.Role{{Kind: "ClusterRole", Name: "releaser"}}}),
			nil, "RoleBinding shop ClusterRole User jane", "", `A binding to ClusterRole "releaser" is missing`,
		},
		"a label that is protected in the cluster": {
			jane(denial.Denial{Resource: "pods", Name: "a", Namespace: "shop", Field: ".metadata.labels[env]", Protected: "label",
				Roles: []denial.Role{{Kind: "ClusterRole", Name: "releaser"}}}),
			nil, "ClusterRoleBinding  ClusterRole User jane", "", "so only a ClusterRoleBinding counts",
		},
		"a label that is protected by a verb": {
			jane(denial.Denial{Resource: "pods", Name: "a", Namespace: "shop", Field: ".metadata.labels[env]", Protected: "label",
				Verbs: []string{"granular:protectedLabel(env)"}}),
			map[string]any{"apiGroups": []any{""}, "resources": []any{"pods"}, "resourceNames": []any{"a"},
				"verbs": []any{"granular:protectedLabel(env)"}},
			"RoleBinding shop Role User jane", "", "",
		},
		"admission": {jane(denial.Denial{Resource: "pods", Admission: true, Why: "no"}), nil, "", "No role helps", ""},
		"a field without a permission": {
			jane(denial.Denial{Resource: "pods", Field: ".foo", Why: "no permission covers this field"}), nil, "",
			"needs the verb update or patch", "",
		},
		"each resource":               {jane(denial.Denial{Resource: "*", Namespace: "shop", Ordinary: "list"}), nil, "", all, ""},
		"each group":                  {jane(denial.Denial{Resource: "pods.*", Namespace: "shop", Ordinary: "list"}), nil, "", all, ""},
		"each verb":                   {jane(denial.Denial{Resource: "pods", Namespace: "shop", Ordinary: "*"}), nil, "", all, ""},
		"one subresource of each":     {jane(denial.Denial{Resource: "*", Subresource: "log", Ordinary: "get"}), nil, "", all, ""},
		"a subresource in each place": {jane(denial.Denial{Resource: "*/scale", Ordinary: "get"}), nil, "", all, ""},
		"a field of each resource": {
			jane(denial.Denial{Resource: "*", Field: ".spec.replicas", Verbs: []string{fields}}), nil, "", all, "",
		},
	} {
		got, err := For(&tc.refused, unknown{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if tc.advice != "" {
			if !strings.Contains(string(got.Advice), tc.advice) || len(got.Objects) > 0 {
				t.Errorf("%s: %q", name, got.Advice)
			}
			continue
		}
		var rule map[string]any
		binding := ""
		for _, one := range got.Objects {
			object := one.(map[string]any)
			u := unstructured.Unstructured{Object: object}
			if rules, found, _ := unstructured.NestedSlice(object, "rules"); found && len(rules) == 1 {
				rule = rules[0].(map[string]any)
				continue
			}
			kind, _, _ := unstructured.NestedString(object, "roleRef", "kind")
			subjects, _, _ := unstructured.NestedSlice(object, "subjects")
			if len(subjects) == 1 {
				subject := subjects[0].(map[string]any)
				binding = strings.Join([]string{u.GetKind(), u.GetNamespace(), kind, subject["kind"].(string), subject["name"].(string)}, " ")
			}
		}
		if diff := cmp.Diff(tc.rule, rule); diff != "" || binding != tc.binding {
			t.Errorf("%s: the binding is %q, wanted %q; the rule (-want +got):\n%s", name, binding, tc.binding, diff)
		}
		var text bytes.Buffer
		if err := Print(&text, []*Remedy{got, got}); err != nil || strings.Count(text.String(), tc.says) < 2 {
			t.Errorf("%s: %v:\n%s", name, err, text.String())
		}
		if want := len(got.Objects); len(got.Commands) != want {
			t.Errorf("%s: %d commands for %d objects: %q", name, len(got.Commands), want, got.Commands)
		}
	}
}

// TestCommandsGiveOneVerb checks that kubectl reads the values of a printed command as they stand in the role.
//
// Attack: the type of a condition is a,update, so that --verb=granular:condition(a,update) would grant update too
// Answer: each value of a flag that takes a list is quoted for that list
func TestCommandsGiveOneVerb(t *testing.T) {
	for _, value := range []string{
		"get", "granular:condition(a,update,patch,b)", `granular:element(a",update,"b)`, `"`, ",", "a b", `a"b`, "a\nb",
	} {
		flags, list := pflag.NewFlagSet("create", pflag.ContinueOnError), []string(nil)
		flags.StringSliceVar(&list, "verb", nil, "")
		if err := flags.Parse([]string{"--verb=" + listed(value)}); err != nil || !slices.Equal(list, []string{value}) {
			t.Errorf("%q is read as %q: %v", value, list, err)
		}
	}
	refused := denial.Denial{User: "jane", Resource: "pods,secrets", Name: "a", Namespace: "shop",
		Verbs: []string{"granular:condition(a,update)"}, Field: ".status.conditions"}
	got, err := For(&refused, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`--verb='"granular:condition(a,update)"' `, `--resource='"pods,secrets"' `} {
		if !strings.Contains(got.Commands[0], want) {
			t.Errorf("%s has no %s", got.Commands[0], want)
		}
	}
}

// TestQuotedForAShell checks that no name in a refusal can end an argument of the printed commands.
//
// Attack: a user name has a command for the shell of the administrator who copies what the plugin prints
// Answer: each argument is quoted
func TestQuotedForAShell(t *testing.T) {
	for text, want := range map[string]string{
		"jane": "jane", "a:b/c@d=e,f+g": "a:b/c@d=e,f+g", "": "''", "a b": "'a b'", "$(reboot)": "'$(reboot)'", "it's": `'it'\''s'`,
		"a\nb": `$'a\nb'`, "a\x1b'b": `$'a\x1b\'b'`, "granular:label(a)": "'granular:label(a)'",
	} {
		if got := Quoted(text); got != want {
			t.Errorf("%q: %s, wanted %s", text, got, want)
		}
	}
	refused := denial.Denial{User: "x; reboot", Resource: "pods", Name: "a`b`", Namespace: "shop", Ordinary: "get"}
	got, err := For(&refused, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range got.Commands {
		// Nothing outside single quotes is special to a shell.
		outside := ""
		for i, part := range strings.Split(command, "'") {
			if i%2 == 0 {
				outside += part
			}
		}
		if strings.ContainsAny(outside, ";`$&|<>()") {
			t.Errorf("%s", command)
		}
	}
}
