// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"context"
	"errors"
	"fmt"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	seam "k8s.io/apiserver/pkg/authorization/selected"

	"kube-granular.dev/api/selection"
)

// TestBoundToLargeRole checks that a binding gives a role which has too many permissions to be compared, and that without one
// of its own binding nobody can select such a role.
func TestBoundToLargeRole(t *testing.T) {
	large := rule(append(words("v", 63), "get"), append(words("g", 63), ""), append(words("r", 99), "pods"), nil)
	everything := clusterRole("everything", rule([]string{"*"}, []string{"*"}, []string{"*"}, nil))
	for name, tc := range map[string]struct {
		binding  any
		selected *selection.SelectedAuthority
		want     authorizer.Decision
	}{
		"a ClusterRole, in the cluster":      {clusterBinding("a", "large", named("jane")), selection.ClusterRole("large"), authorizer.DecisionAllow},
		"a ClusterRole, in the namespace":    {binding("n", "a", "ClusterRole", "large", named("jane")), selection.ClusterRole("large"), authorizer.DecisionAllow},
		"a ClusterRole, in another":          {binding("m", "a", "ClusterRole", "large", named("jane")), selection.ClusterRole("large"), authorizer.DecisionNoOpinion},
		"a Role":                             {binding("n", "a", "Role", "large", named("jane")), selection.Role("n", "large"), authorizer.DecisionAllow},
		"a Role, by a ClusterRole's binding": {binding("n", "a", "ClusterRole", "large", named("jane")), selection.Role("n", "large"), authorizer.DecisionNoOpinion},
		"of somebody else":                   {clusterBinding("a", "large", named("joe")), selection.ClusterRole("large"), authorizer.DecisionNoOpinion},
		"another role":                       {clusterBinding("a", "other", named("jane")), selection.ClusterRole("large"), authorizer.DecisionNoOpinion},
	} {
		p := newPolicy()
		put(t, p.clusterRoles, clusterRole("large", large), clusterRole("other", large), everything)
		put(t, p.roles, role("n", "large", large))
		put(t, p.roleBindings, binding("n", "z", "ClusterRole", "everything", named("jane")))
		switch b := tc.binding.(type) {
		case *rbacv1.ClusterRoleBinding:
			put(t, p.clusterRoleBindings, b)
		default:
			put(t, p.roleBindings, b)
		}
		a := New(chained(t, p.rbac, p.rbac), nil, nil)
		if got, reason, err := a.Authorize(t.Context(), ask(selecting(t, &user.DefaultInfo{Name: "jane"}, tc.selected), "get", "n", "pods")); got != tc.want || err != nil {
			t.Errorf("%s: %v, %s, %v", name, got, reason, err)
		}
	}
}

// unreadable is a policy of which one kind can't be read.
type unreadable struct {
	seam.Policy
	kind string
}

var errUnreadable = errors.New("storage is broken")

func (u unreadable) failure(kind string) error {
	if u.kind == kind {
		return errUnreadable
	}
	return nil
}

func (u unreadable) GetClusterRole(ctx context.Context, name string) (*rbacv1.ClusterRole, error) {
	if err := u.failure("ClusterRole"); err != nil {
		return nil, err
	}
	return u.Policy.GetClusterRole(ctx, name)
}

func (u unreadable) ListRoleBindings(ctx context.Context, namespace string) ([]*rbacv1.RoleBinding, error) {
	if err := u.failure("RoleBinding"); err != nil {
		return nil, err
	}
	return u.Policy.ListRoleBindings(ctx, namespace)
}

func (u unreadable) ListClusterRoleBindings(ctx context.Context) ([]*rbacv1.ClusterRoleBinding, error) {
	if err := u.failure("ClusterRoleBinding"); err != nil {
		return nil, err
	}
	return u.Policy.ListClusterRoleBindings(ctx)
}

// TestUnreadablePolicy checks that the visitor learns that roles or bindings can't be read, and gets only rules that do not depend on
// them (jane holds the rules of view by edit, too). A role that does not exist is no error.
func TestUnreadablePolicy(t *testing.T) {
	for _, tc := range []struct {
		kind, selected string
		fails          bool
		rules          int
	}{
		{"", "view", false, 1}, {"", "none", false, 0}, {"ClusterRole", "view", true, 0}, {"ClusterRole", "part", true, 0}, {"RoleBinding", "part", true, 0}, {"ClusterRoleBinding", "view", true, 1},
	} {
		p, jane := jane(t)
		broken := unreadable{p.policy(), tc.kind}
		var failed error
		rules := 0
		Selection{}.Visit(t.Context(), seam.Policy{RoleGetter: broken, RoleBindingLister: broken, ClusterRoleGetter: broken, ClusterRoleBindingLister: broken},
			selecting(t, jane, selection.ClusterRole(tc.selected)), "n", func(_ fmt.Stringer, r *rbacv1.PolicyRule, err error) bool {
				if failed = errors.Join(failed, err); r != nil {
					rules++
				}
				return true
			})
		if errors.Is(failed, errUnreadable) != tc.fails || rules != tc.rules {
			t.Errorf("no %s, selected %s: %d rules, %v", tc.kind, tc.selected, rules, failed)
		}
	}
}
