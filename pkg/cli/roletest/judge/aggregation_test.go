// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"context"
	"errors"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// TestWaitForAggregation holds that the wait ends when each role that gathers rules has all of them and no
// others, and not before. The server here gathers late: one step of a list in each answer.
func TestWaitForAggregation(t *testing.T) {
	rule := func(resource string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{resource}, Verbs: []string{"get"}}
	}
	gathering := func(name, label string, rules ...rbacv1.PolicyRule) rbacv1.ClusterRole {
		return rbacv1.ClusterRole{
			ObjectMeta:      metav1.ObjectMeta{Name: name, Labels: map[string]string{"in": name}},
			AggregationRule: &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{{MatchLabels: map[string]string{"in": label}}}},
			Rules:           rules,
		}
	}
	source := rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "source", Labels: map[string]string{"in": "source"}},
		Rules: []rbacv1.PolicyRule{rule("pods"), rule("secrets")}}
	steps := [][]rbacv1.ClusterRole{
		{gathering("first", "source"), gathering("second", "first")},
		{gathering("first", "source", rule("pods")), gathering("second", "first", rule("pods"))},
		{gathering("first", "source", rule("secrets"), rule("pods")), gathering("second", "first", rule("pods"))},
		{gathering("first", "source", rule("secrets"), rule("pods"), rule("old")), gathering("second", "first", rule("pods"), rule("secrets"), rule("old"))},
		{gathering("first", "source", rule("secrets"), rule("pods")), gathering("second", "first", rule("pods"), rule("secrets"))},
	}
	lists := 0
	client := fake.NewClientset()
	client.PrependReactor("list", "clusterroles", func(clienttesting.Action) (bool, runtime.Object, error) {
		step := steps[min(lists, len(steps)-1)]
		lists++
		return true, &rbacv1.ClusterRoleList{Items: append(step, source)}, nil
	})
	s := &Server{kube: client}
	if err := s.waitForAggregation(t.Context()); err != nil || lists != len(steps) {
		t.Errorf("the wait ended after %d lists, wanted %d: %v", lists, len(steps), err)
	}

	// Rules that never come end the wait with an error, and not with a result.
	ctx, cancel := context.WithCancel(t.Context())
	steps, lists = steps[:1], 0
	client.PrependReactor("list", "clusterroles", func(clienttesting.Action) (bool, runtime.Object, error) {
		if lists == 3 {
			cancel()
		}
		return false, nil, nil
	})
	if err := s.waitForAggregation(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("without the rules: %v", err)
	}
}
