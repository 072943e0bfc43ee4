// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"context"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kube-granular.dev/api/authority/v1alpha1"
)

// A sentinel is an object that is written after all others of its kind. The server receives the
// changes of a kind in the order in which they were made. So once the sentinel has an effect, all
// others have theirs.
const (
	sentinel      = "kube-granular-test-sentinel"
	sentinelGroup = "sentinel.test.kube-granular.dev"
)

func (s *Server) prepareSentinels(ctx context.Context) error {
	meta := metav1.ObjectMeta{Name: sentinel}
	if _, err := s.kube.CoreV1().Namespaces().Create(ctx, newNamespace(sentinelNamespace), metav1.CreateOptions{}); err != nil {
		return err
	}
	if _, err := s.kube.RbacV1().ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: meta}, metav1.CreateOptions{}); err != nil {
		return err
	}
	_, err := s.kube.RbacV1().Roles(sentinelNamespace).Create(ctx, &rbacv1.Role{ObjectMeta: meta}, metav1.CreateOptions{})
	return err
}

// waitForRBAC waits until the authorizer knows all roles and bindings, and the roles that gather rules
// from others have them.
func (s *Server) waitForRBAC(ctx context.Context) error {
	if err := s.waitForAggregation(ctx); err != nil {
		return err
	}
	return s.waitForSentinels(ctx)
}

// waitForSentinels does the part of waitForRBAC that is not about gathered rules.
func (s *Server) waitForSentinels(ctx context.Context) error {
	s.round++
	name := fmt.Sprintf("%s-%d", sentinel, s.round)
	meta := metav1.ObjectMeta{Name: name}
	subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}}
	cluster := fmt.Sprintf(`{"rules":[{"apiGroups":[%q],"resources":["cluster-%d"],"verbs":["get"]},
		{"apiGroups":[""],"resources":["configmaps"],"verbs":["create"]}]}`, sentinelGroup, s.round)
	local := fmt.Sprintf(`{"rules":[{"apiGroups":[%q],"resources":["local-%d"],"verbs":["get"]}]}`, sentinelGroup, s.round)
	rbac := s.kube.RbacV1()
	if _, err := rbac.ClusterRoles().Patch(ctx, sentinel, types.MergePatchType, []byte(cluster), metav1.PatchOptions{}); err != nil {
		return err
	}
	if _, err := rbac.Roles(sentinelNamespace).Patch(ctx, sentinel, types.MergePatchType, []byte(local), metav1.PatchOptions{}); err != nil {
		return err
	}
	if _, err := rbac.ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: meta, Subjects: subjects,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: sentinel}}, metav1.CreateOptions{}); err != nil {
		return err
	}
	if _, err := rbac.RoleBindings(sentinelNamespace).Create(ctx, &rbacv1.RoleBinding{ObjectMeta: meta, Subjects: subjects,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: sentinel}}, metav1.CreateOptions{}); err != nil {
		return err
	}
	for _, resource := range []string{"cluster", "local"} {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: name,
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: sentinelNamespace, Verb: "get", Group: sentinelGroup, Resource: fmt.Sprintf("%s-%d", resource, s.round),
			},
		}}
		if err := until(ctx, "the roles and bindings are known", func(ctx context.Context) (bool, error) {
			answer, err := s.kube.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
			return err == nil && answer.Status.Allowed, err
		}); err != nil {
			return err
		}
	}
	if err := rbac.ClusterRoleBindings().Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		return err
	}
	return rbac.RoleBindings(sentinelNamespace).Delete(ctx, name, metav1.DeleteOptions{})
}

// waitForAttributes waits until the server knows all protected attributes. It must be called after
// waitForRBAC.
func (s *Server) waitForAttributes(ctx context.Context) error {
	s.round++
	user := fmt.Sprintf("%s-%d", sentinel, s.round)
	meta := metav1.ObjectMeta{Name: user}
	subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}}
	if _, err := s.kube.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: meta, Subjects: subjects,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: sentinel}}, metav1.CreateOptions{}); err != nil {
		return err
	}
	config, err := s.access.User(user)
	if err != nil {
		return err
	}
	client, err := dynamicFor(config)
	if err != nil {
		return err
	}
	for _, kind := range []string{"ClusterProtectedAttribute", "ProtectedAttribute"} {
		if err := s.waitForAttribute(ctx, client.Resource(configMaps).Namespace(sentinelNamespace), kind); err != nil {
			return err
		}
	}
	return s.kube.RbacV1().ClusterRoleBindings().Delete(ctx, user, metav1.DeleteOptions{})
}

// waitForAttribute creates an attribute of a kind, waits until the server refuses a label for it, and
// deletes the attribute.
func (s *Server) waitForAttribute(ctx context.Context, maps creator, kind string) error {
	label := fmt.Sprintf("%s/%s-%d", sentinelGroup, kind, s.round)
	attribute := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.SchemeGroupVersion.String(), "kind": kind,
		"metadata": map[string]any{"name": fmt.Sprintf("%s-%d", sentinel, s.round)},
		"spec": map[string]any{
			"attributeKind": "Label", "attributeName": label,
			"resources": []any{map[string]any{"group": "", "resource": "configmaps"}},
		},
	}}
	if kind == "ProtectedAttribute" {
		attribute.SetNamespace(sentinelNamespace)
	}
	resource, err := s.resource(attribute)
	if err != nil {
		return err
	}
	if _, err := resource.Create(ctx, attribute, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create a %s: %s", kind, reason(err))
	}
	probe := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": "probe", "labels": map[string]any{label: "x"}},
	}}
	// The attribute is known once its label is refused, and a map without it is not.
	if err := until(ctx, "the protected attributes are known", func(ctx context.Context) (bool, error) {
		_, err := maps.Create(ctx, probe, metav1.CreateOptions{DryRun: dryRun})
		denied, ok := denialOf(err)
		switch {
		case ok && denied.Protected != "":
			return true, nil
		case err == nil || ok || apierrors.IsServiceUnavailable(err):
			return false, nil
		}
		return false, err
	}); err != nil {
		return err
	}
	return resource.Delete(ctx, attribute.GetName(), metav1.DeleteOptions{})
}
