// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"kube-granular.dev/test/integration/harness"
)

// TestReviews checks access reviews of writes, which the server answers from its index of
// bindings. The verdict must be right for a user with one group, with very many groups, and
// with one group that is named very often. The author of a review chooses the groups, and may
// be the administrator of just one namespace. TestListedOnce and TestNotLookedFor check the
// cost.
//
// Attack: an access review of a caller whose one group is named 50,000 times, or of 5,000
// groups, in a namespace of many bindings
// Answer: the same verdict as upstream's, by upstream's code
// Held by: TestListedOnce, TestNotLookedFor
func TestReviews(t *testing.T) {
	admin := harness.Administrator(t, on)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	namespace := fmt.Sprintf("reviews-%d", harness.Unique())
	if _, err := admin.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	role := &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "r"},
		Rules:      []rbacv1.PolicyRule{{Verbs: []string{"create"}, APIGroups: []string{""}, Resources: []string{"configmaps"}}},
	}
	if _, err := admin.RbacV1().Roles(namespace).Create(ctx, role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	group := func(name string) rbacv1.Subject {
		return rbacv1.Subject{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: name}
	}
	for i := range 100 {
		// One binding, number 50, has more subjects than the index stores for a binding.
		subjects := []rbacv1.Subject{group("g"), group("h")}
		for j := range 100 {
			if i == 50 {
				subjects = append(subjects, group(fmt.Sprintf("many-%d", j)))
			}
		}
		if _, err := admin.RbacV1().RoleBindings(namespace).Create(ctx, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("b%d", i)},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "r"},
			Subjects:   subjects,
		}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	var distinct []string
	for i := range 5000 {
		distinct = append(distinct, fmt.Sprintf("group-%d", i))
	}
	allows := func(verb string, groups []string) (bool, error) {
		review, err := admin.AuthorizationV1().LocalSubjectAccessReviews(namespace).Create(ctx, &authorizationv1.LocalSubjectAccessReview{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace},
			Spec: authorizationv1.SubjectAccessReviewSpec{
				User: "somebody", Groups: groups,
				ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: verb,
					Resource: "configmaps"},
			},
		}, metav1.CreateOptions{})
		if err != nil {
			return false, err
		}
		return review.Status.Allowed, nil
	}
	if err := wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(context.Context) (bool, error) {
		return allows("create", []string{"many-0"})
	}); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name   string
		groups []string
		want   bool
	}{
		{"one group", []string{"g"}, true},
		{"both groups of each binding", []string{"g", "h"}, true},
		{"one of many subjects", []string{"many-99"}, true},
		{"one group, again and again", slices.Repeat([]string{"g"}, 50000), true},
		{"very many groups, the last one bound", append(slices.Clone(distinct), "g"), true},
		{"another group", []string{"i"}, false},
		{"another group, again and again", slices.Repeat([]string{"i"}, 50000), false},
		{"very many groups", distinct, false},
	} {
		for verb, want := range map[string]bool{"create": tc.want, "update": false} {
			if got, err := allows(verb, tc.groups); err != nil || got != want {
				t.Errorf("%s of %s: allowed %t and %v, wanted %t", verb, tc.name, got, err, want)
			}
		}
	}
}
