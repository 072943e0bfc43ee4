// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"context"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// waitForAggregation waits until each role with an aggregation rule has exactly the rules of the roles
// that it selects. A controller copies them, and then the copies of the copies.
func (s *Server) waitForAggregation(ctx context.Context) error {
	return until(ctx, "the roles that gather rules from others have them", func(ctx context.Context) (bool, error) {
		list, err := s.kube.RbacV1().ClusterRoles().List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		for i := range list.Items {
			if role := &list.Items[i]; role.AggregationRule != nil {
				complete, err := isComplete(role, list.Items)
				if !complete || err != nil {
					return false, err
				}
			}
		}
		return true, nil
	})
}

func isComplete(role *rbacv1.ClusterRole, all []rbacv1.ClusterRole) (bool, error) {
	var gathered []rbacv1.PolicyRule
	for i := range role.AggregationRule.ClusterRoleSelectors {
		selector, err := metav1.LabelSelectorAsSelector(&role.AggregationRule.ClusterRoleSelectors[i])
		if err != nil {
			return false, err
		}
		for _, other := range all {
			if other.Name != role.Name && selector.Matches(labels.Set(other.Labels)) {
				gathered = append(gathered, other.Rules...)
			}
		}
	}
	return containsAll(role.Rules, gathered) && containsAll(gathered, role.Rules), nil
}

func containsAll(rules, others []rbacv1.PolicyRule) bool {
	for i := range others {
		found := false
		for j := range rules {
			found = found || equality.Semantic.DeepEqual(rules[j], others[i])
		}
		if !found {
			return false
		}
	}
	return true
}
