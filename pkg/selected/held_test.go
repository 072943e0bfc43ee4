// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"context"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"kube-granular.dev/api/selection"
	"kube-granular.dev/pkg/rbacindex"
)

// TestCoveredBySeveral holds that a caller can select a role whose rules the caller holds by
// several other roles. Roles that do not concern the resource of the request count too, even
// where the index by subject would leave them out.
func TestCoveredBySeveral(t *testing.T) {
	p := newPolicy()
	put(t, p.clusterRoles, clusterRole("pods", on("create", "pods")), clusterRole("services", on("create", "services")), clusterRole("both", on("create", "pods", "services")))
	put(t, p.roleBindings, binding("n", "a", "ClusterRole", "pods", named("jane")), binding("n", "b", "ClusterRole", "services", named("jane")), binding("n", "c", "ClusterRole", "pods", named("joe")))
	a := New(chained(t, p.rbac, p.rbac), nil, nil)
	for name, want := range map[string]authorizer.Decision{"jane": authorizer.DecisionAllow, "joe": authorizer.DecisionNoOpinion} {
		q := ask(selecting(t, &user.DefaultInfo{Name: name}, selection.ClusterRole("both")), "create", "n", "pods")
		for index, ctx := range map[string]context.Context{"listed": t.Context(), "by subject": rbacindex.For(t.Context(), q)} {
			if got, reason, err := a.Authorize(ctx, q); got != want || err != nil {
				t.Errorf("%s, %s: %v, %s, error %v", name, index, got, reason, err)
			}
		}
	}
}

// TestSelectionWork holds how large a role may be that a caller selects without a binding: the
// comparison is made anew whenever a role or a binding of the caller changes.
//
// Attack: a role with 65,000 names is selected while one's bindings change all the time
// Answer: the caller counts as not holding the rules; a binding of the role still gives it
// Was: 40 ms of processor time for each request
func TestSelectionWork(t *testing.T) {
	everything := rule([]string{"*"}, []string{"*"}, []string{"*"}, nil)
	for n, want := range map[int]bool{8000: true, 65_000: false} {
		wanted := []rbacv1.PolicyRule{rule([]string{"get"}, []string{""}, []string{"pods"}, words("n", n))}
		if got := compare([]*rbacv1.PolicyRule{&everything}, wanted); got != want {
			t.Errorf("%d names: covered %t", n, got)
		}
		if got := compare([]*rbacv1.PolicyRule{&wanted[0]}, wanted); got != want {
			t.Errorf("%d names, held by the same rule: covered %t", n, got)
		}
	}
}
