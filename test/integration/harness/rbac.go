// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"kube-granular.dev/test/integration/cluster"
)

// splitResource splits a resource such as deployments.apps/scale.
func splitResource(resource string) (name, group, subresource string) {
	resource, subresource, _ = strings.Cut(resource, "/")
	name, group, _ = strings.Cut(resource, ".")
	return name, group, subresource
}

// bindRole creates a role with the name of the user, and binds the user to the role. If namespace
// is empty, it creates a ClusterRole and a ClusterRoleBinding.
func bindRole(ctx context.Context, client kubernetes.Interface, namespace, user string, rules []rbacv1.PolicyRule) error {
	meta := metav1.ObjectMeta{Name: user, Namespace: namespace}
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user}
	subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}}
	rbac := client.RbacV1()
	if namespace == "" {
		ref.Kind = "ClusterRole"
		if _, err := rbac.ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: meta, Rules: rules}, metav1.CreateOptions{}); err != nil {
			return err
		}
		_, err := rbac.ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects}, metav1.CreateOptions{})
		return err
	}
	if _, err := rbac.Roles(namespace).Create(ctx, &rbacv1.Role{ObjectMeta: meta, Rules: rules}, metav1.CreateOptions{}); err != nil {
		return err
	}
	_, err := rbac.RoleBindings(namespace).Create(ctx, &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects}, metav1.CreateOptions{})
	return err
}

// waitForGrant waits until a SubjectAccessReview says that the user is allowed what is asked.
func waitForGrant(ctx context.Context, client kubernetes.Interface, user string, asked authorizationv1.ResourceAttributes) error {
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: &asked}}
	return wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		answer, err := client.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		if err != nil {
			return false, err
		}
		return answer.Status.Allowed, nil
	})
}

// Impersonating returns the configuration for impersonating a user. With an empty user, the
// client impersonates nobody.
func Impersonating(user string, groups ...string) rest.ImpersonationConfig {
	return rest.ImpersonationConfig{UserName: user, Groups: groups}
}

// Allow grants a user rules in the whole cluster. It then waits until the authorizer allows each
// verb of each rule on the first resource of the rule, and on the first name if the rule has names.
func Allow(t *testing.T, client kubernetes.Interface, user string, rules ...rbacv1.PolicyRule) {
	t.Helper()
	if err := bindRole(t.Context(), client, "", user, rules); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	for _, rule := range rules {
		asked := authorizationv1.ResourceAttributes{Group: rule.APIGroups[0]}
		asked.Resource, asked.Subresource, _ = strings.Cut(rule.Resources[0], "/")
		if len(rule.ResourceNames) > 0 {
			asked.Name = rule.ResourceNames[0]
		}
		for _, asked.Verb = range rule.Verbs {
			if err := waitForGrant(ctx, client, user, asked); err != nil {
				t.Fatalf("the authorizer did not learn the grant of %+v to %s: %v", asked, user, err)
			}
		}
	}
}

// Administrator returns a client that may do everything.
func Administrator(t *testing.T, c *cluster.Cluster) *kubernetes.Clientset {
	t.Helper()
	client, err := kubernetes.NewForConfig(Config(t, c, "admin"))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// Create creates an object from JSON.
func Create(t *testing.T, client *kubernetes.Clientset, path, body string) {
	t.Helper()
	err := client.RESTClient().Post().AbsPath(path).Body([]byte(body)).SetHeader("Content-Type", ContentTypes["json"]).Do(t.Context()).Error()
	if err != nil {
		t.Fatal(err)
	}
}
