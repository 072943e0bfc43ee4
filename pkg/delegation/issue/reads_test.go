// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package issue

import (
	"fmt"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/user"
)

// TestManyReads checks that the objects on which conditions are evaluated are asked for one by one, by their names and in
// their groups, and that too many are refused.
func TestManyReads(t *testing.T) {
	named := func(n int) rbacv1.PolicyRule {
		rule := on("pods", "update")
		for i := range n {
			rule.ResourceNames = append(rule.ResourceNames, fmt.Sprint(i))
		}
		return rule
	}
	var all []string
	for i := range maxReads + 1 {
		all = append(all, fmt.Sprintf("get pods n/%d", i))
	}
	apps := rbacv1.PolicyRule{Verbs: []string{"patch"}, APIGroups: []string{"apps", ""}, Resources: []string{"deployments", "pods"}}
	both := []string{"get deployments.apps n/", "get pods.apps n/", "get deployments n/", "get pods n/"}
	for name, tc := range map[string]struct {
		rules []rbacv1.PolicyRule
		may   []string
		fails []string
		want  bool
	}{
		"as many as can be asked":  {rules(named(maxReads)), all, nil, true},
		"one more":                 {rules(named(maxReads + 1)), all, nil, false},
		"one may not be read":      {rules(named(3)), all[:2], nil, false},
		"two groups":               {rules(apps), both, nil, true},
		"one group may not":        {rules(apps), both[:3], nil, false},
		"only read":                {rules(on("secrets", "get")), nil, nil, true},
		"no answer":                {rules(named(2)), all[:1], all[1:2], false},
		"another, without a name":  {rules(named(1), on("secrets", "update")), all, nil, false},
		"another, that is allowed": {rules(named(1), on("secrets", "update")), append(all[:1:1], "get secrets n/"), nil, true},
	} {
		s, d := newScene(t), wanted()
		s.requests, s.fails, d.Spec.Conditions, d.Status.Rules = tc.may, tc.fails, anyCondition, tc.rules
		if got := s.issuer.mayGetObjects(s.by(&user.DefaultInfo{Name: "eve"}), d); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
		if d.Spec.Conditions = nil; !s.issuer.mayGetObjects(s.by(&user.DefaultInfo{Name: "eve"}), d) {
			t.Errorf("%s: refused without conditions", name)
		}
	}
}
