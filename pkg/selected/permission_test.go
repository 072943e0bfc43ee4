// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/component-helpers/auth/rbac/validation"

	"kube-granular.dev/api/selection"
	"kube-granular.dev/pkg/rbacindex"
)

// TestCovers holds that coveredBy finds one rule covered by another exactly if upstream's
// escalation check does, for all pairs of rules that are easily confused.
func TestCovers(t *testing.T) {
	var rules []rbacv1.PolicyRule
	for _, verb := range []string{"get", "*"} {
		for _, group := range []string{"", "g", "*"} {
			for _, resource := range []string{"pods", "pods/log", "*/log", "*", "*/", "pods/"} {
				for _, names := range [][]string{nil, {""}, {"a"}, {"a", ""}} {
					rules = append(rules, rule([]string{verb}, []string{group}, []string{resource}, names))
				}
			}
		}
		for _, url := range []string{"/a", "/a*", "/a/b", "*", "/"} {
			rules = append(rules, rbacv1.PolicyRule{Verbs: []string{verb}, NonResourceURLs: []string{url}})
		}
	}
	for _, owner := range rules {
		for _, servant := range rules {
			got := true
			for _, p := range splitRules([]rbacv1.PolicyRule{servant}) {
				got = got && p.coveredBy(&owner)
			}
			if want, _ := validation.Covers([]rbacv1.PolicyRule{owner}, []rbacv1.PolicyRule{servant}); got != want {
				t.Errorf("%v covers %v: %t, wanted %t", owner, servant, got, want)
			}
		}
	}
}

// TestCoveredBySeveral holds that a caller can select a role whose rules the caller holds by
// several other roles. Roles that do not concern the resource of the request count too, even
// where the index by subject would leave them out.
func TestCoveredBySeveral(t *testing.T) {
	p := newPolicy()
	put(t, p.clusterRoles, clusterRole("pods", on("create", "pods")), clusterRole("services", on("create", "services")), clusterRole("both", on("create", "pods", "services")))
	put(t, p.roleBindings, binding("n", "a", "ClusterRole", "pods", named("jane")), binding("n", "b", "ClusterRole", "services", named("jane")), binding("n", "c", "ClusterRole", "pods", named("joe")))
	a := New(chained(t, p.rbac, p.rbac), nil)
	for name, want := range map[string]authorizer.Decision{"jane": authorizer.DecisionAllow, "joe": authorizer.DecisionNoOpinion} {
		q := ask(selecting(t, &user.DefaultInfo{Name: name}, selection.ClusterRole("both")), "create", "n", "pods")
		for index, ctx := range map[string]context.Context{"listed": t.Context(), "by subject": rbacindex.For(t.Context(), q)} {
			if got, reason, err := a.Authorize(ctx, q); got != want || err != nil {
				t.Errorf("%s, %s: %v, %s, error %v", name, index, got, reason, err)
			}
		}
	}
}

// TestJoinRules checks that joined permissions are the same as before, in fewer rules.
func TestJoinRules(t *testing.T) {
	rules := []rbacv1.PolicyRule{
		rule([]string{"get", "list"}, []string{"", "g"}, []string{"pods", "secrets", "pods/log"}, nil),
		rule([]string{"get"}, []string{""}, []string{"pods", "secrets"}, []string{"a", "b"}),
		{Verbs: []string{"get", "post"}, NonResourceURLs: []string{"/a", "/b"}},
		rule([]string{"get"}, []string{""}, []string{"nodes"}, nil),
	}
	joined := joinRules(splitRules(rules))
	if diff := cmp.Diff(splitRules(rules), splitRules(joined), cmp.AllowUnexported(permission{})); diff != "" {
		t.Error(diff)
	}
	if got := len(joined); got != 4+2+4+1 {
		t.Errorf("%d rules: %v", got, joined)
	}
	if got := joinRules(without(splitRules(rules[:1]), []int{1, 3, 11})); len(got) != 4 || len(got[0].Resources) != 2 || len(got[3].Resources) != 2 {
		t.Errorf("%v", got)
	}
}
