// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"net/http"
	"strings"
	"testing"
)

// TestProtected checks protected labels under a selection: a caller that selects a role may set
// a protected label only if the selected role is the role of the label, and a binding of that
// role names the caller. Without a selection, the binding suffices.
//
// Attack: selecting the role that may set a protected label, while holding its rules without a binding to it
// Answer: 403, the label is protected
//
// Attack: selecting any role, so that membership depends on the selected rules
// Answer: 403, a caller that selects a role is a member of that role alone
func TestProtected(t *testing.T) {
	c := start(t, append([]string{"--feature-gates", "SelectedAuthority=true,ProtectedAttributes=true", "--"}, flags...)...)
	const rules = `"rules":[{"apiGroups":[""],"resources":["configmaps"],"verbs":["create"]}]`
	apply(t, c, rbacPath+"clusterroles", `{"metadata":{"name":"writer"},`+rules+`}`, rbacPath+"clusterroles", `{"metadata":{"name":"setter"},`+rules+`}`)
	for _, user := range []string{"jane", "bob"} {
		bind(t, c, "", user, "ClusterRole", "writer")
	}
	bind(t, c, "", "jane", "ClusterRole", "setter")
	create := func(user, selects, labels string) request {
		r := request{
			as: person(user), method: http.MethodPost, path: "/api/v1/namespaces/default/configmaps?dryRun=All",
			body: `{"metadata":{"name":"c","labels":{` + labels + `}}}`,
		}
		if selects != "" {
			r.selects = []string{selects}
		}
		return r
	}
	for _, user := range []string{"jane", "bob"} {
		create(user, clusterRole("setter"), `"env":"x"`).eventuallyFrom(t, c, http.StatusCreated)
	}
	apply(t, c, "/apis/authority.kube-granular.dev/v1alpha1/clusterprotectedattributes",
		`{"metadata":{"name":"env"},"spec":{"attributeKind":"Label","attributeName":"env","roleRef":{"kind":"ClusterRole","name":"setter"}}}`)
	for _, tc := range []struct {
		user, selects string
		may           bool
	}{
		{"jane", "", true},
		{"jane", clusterRole("setter"), true},
		{"jane", clusterRole("writer"), false},
		{"bob", "", false},
		{"bob", clusterRole("writer"), false},
		{"bob", clusterRole("setter"), false},
	} {
		got := create(tc.user, tc.selects, `"env":"x"`).to(t, c)
		if tc.may != (got.status == http.StatusCreated) || !tc.may && (got.status != http.StatusForbidden || !strings.Contains(got.body, "a protected label")) {
			t.Errorf("%s selecting %q: %s", tc.user, tc.selects, got)
		}
		if got := create(tc.user, tc.selects, `"other":"x"`).to(t, c); got.status != http.StatusCreated {
			t.Errorf("%s selecting %q, another label: %s", tc.user, tc.selects, got)
		}
	}
}
