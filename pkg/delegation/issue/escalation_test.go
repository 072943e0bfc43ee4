// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package issue

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	seam "k8s.io/apiserver/pkg/authorization/selected"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// holder are readers of RBAC in which jane holds the rules of one cluster role.
type holder struct{ rules []rbacv1.PolicyRule }

func (h holder) GetRole(context.Context, string, string) (*rbacv1.Role, error) { return nil, nil }

func (h holder) ListRoleBindings(context.Context, string) ([]*rbacv1.RoleBinding, error) {
	return nil, nil
}

func (h holder) GetClusterRole(context.Context, string) (*rbacv1.ClusterRole, error) {
	return &rbacv1.ClusterRole{Rules: h.rules}, nil
}

func (h holder) ListClusterRoleBindings(context.Context) ([]*rbacv1.ClusterRoleBinding, error) {
	return []*rbacv1.ClusterRoleBinding{{
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "held"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "jane"}},
	}}, nil
}

func (h holder) policy() seam.Policy {
	return seam.Policy{RoleGetter: h, RoleBindingLister: h, ClusterRoleGetter: h, ClusterRoleBindingLister: h}
}

// TestConfirmRules checks that a caller can pass on what it holds, and nothing else.
func TestConfirmRules(t *testing.T) {
	rule := func(resource string, verbs ...string) []rbacv1.PolicyRule {
		return []rbacv1.PolicyRule{{APIGroups: []string{"apps"}, Resources: []string{resource}, Verbs: verbs}}
	}
	for _, tc := range []struct {
		name         string
		held, wanted []rbacv1.PolicyRule
		user         string
		allowed      bool
	}{
		{"held", rule("deployments", "get", "delete"), rule("deployments", "delete"), "jane", true},
		{"one verb less", rule("deployments", "get"), rule("deployments", "delete"), "jane", false},
		{"another resource", rule("daemonsets", "delete"), rule("deployments", "delete"), "jane", false},
		{"another user", rule("deployments", "delete"), rule("deployments", "delete"), "olga", false},
		{"included", rule("deployments", "update", "patch"), rule("deployments", "granular:replicas"), "jane", true},
		{"included in two verbs, of which one is held", rule("deployments", "patch"), rule("deployments", "granular:replicas"), "jane", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ctx := request.WithUser(t.Context(), &user.DefaultInfo{Name: tc.user})
			if err := confirmRules(ctx, holder{tc.held}.policy(), "", tc.wanted); (err == nil) != tc.allowed {
				t.Errorf("allowed: %t, error: %v", tc.allowed, err)
			}
		})
	}
	if err := confirmRules(t.Context(), holder{rule("deployments", "delete")}.policy(), "", rule("deployments", "delete")); err == nil {
		t.Error("a request without a user may pass on rights")
	}
}

// TestManyMissingRules checks the limits of the comparison: what is not compared is refused.
//
// Attack: delegating so many rights that only the first of them are compared with what the caller holds
// Answer: 403
func TestManyMissingRules(t *testing.T) {
	named := func(n int, verb string) rbacv1.PolicyRule {
		rule := rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{verb}}
		for i := range n {
			rule.ResourceNames = append(rule.ResourceNames, fmt.Sprint(i))
		}
		return rule
	}
	holding := func(verbs ...string) []rbacv1.PolicyRule {
		return []rbacv1.PolicyRule{{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: verbs}}
	}
	ordinary := holding("update", "patch", "create")
	for name, tc := range map[string]struct {
		held, wanted []rbacv1.PolicyRule
		says         string // of the refusal, or empty
	}{
		"a permission that a wider one includes":                {holding("granular:specification"), rules(named(1, "granular:replicas")), ""},
		"the other way around":                                  {holding("granular:replicas"), rules(named(1, "granular:specification")), "not currently held"},
		"as many as are compared":                               {holding("granular:specification"), rules(named(maxCompared, "granular:replicas")), ""},
		"one more":                                              {holding("granular:specification"), rules(named(maxCompared+1, "granular:replicas")), "not currently held"},
		"one more, of ordinary verbs":                           {ordinary, rules(named(maxCompared+1, "granular:replicas")), ""},
		"one more, that is not held":                            {ordinary, rules(named(maxCompared, "granular:replicas"), on("secrets", "get")), "not currently held"},
		"more than can be counted":                              {ordinary, rules(named(1<<17+1, "delete")), "too many combinations"},
		"more than can be counted, once the verbs are replaced": {ordinary, rules(named(50_000, "granular:metadata"), on("secrets", "get")), "you do not hold 50001"},
		"many that are held":                                    {ordinary, rules(named(50_000, "update")), ""},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := request.WithUser(t.Context(), &user.DefaultInfo{Name: "jane"})
			err := confirmRules(ctx, holder{tc.held}.policy(), "", tc.wanted)
			if (err != nil) != (tc.says != "") || err != nil && !strings.Contains(err.Error(), tc.says) {
				t.Errorf("error %v, wanted %q", err, tc.says)
			}
		})
	}
}

// TestIncludingRules checks the rules that stand for permission verbs, and that their order is that
// of the verbs: a refusal names them.
func TestIncludingRules(t *testing.T) {
	apps := func(verbs, resources []string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{Verbs: verbs, APIGroups: []string{"apps"}, Resources: resources}
	}
	both := []string{"deployments", "statefulsets"}
	metrics := rbacv1.PolicyRule{Verbs: []string{"get"}, NonResourceURLs: []string{"/metrics"}}
	for _, tc := range []struct {
		name        string
		rules, want []rbacv1.PolicyRule
		other       bool
	}{
		{"ordinary verbs", []rbacv1.PolicyRule{metrics, apps([]string{"watch", "delete", "get"}, both)},
			[]rbacv1.PolicyRule{metrics, apps([]string{"watch"}, both), apps([]string{"delete"}, both), apps([]string{"get"}, both)}, false},
		{"permission verbs", []rbacv1.PolicyRule{apps([]string{"watch", "granular:replicas", "delete", "granular:metadata", "granular:labels", "get"}, both), metrics},
			[]rbacv1.PolicyRule{apps([]string{"watch"}, both), apps([]string{"update", "patch"}, append(both[:2:2], both...)),
				apps([]string{"delete"}, both), apps([]string{"update", "patch", "create"}, both), apps([]string{"get"}, both), metrics}, true},
	} {
		for range 20 {
			if got, other := includingRules(tc.rules); other != tc.other || !reflect.DeepEqual(got, tc.want) {
				t.Fatalf("%s: other: %t, rules %v, want %v", tc.name, other, got, tc.want)
			}
		}
	}
}
