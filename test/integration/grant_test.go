// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"kube-granular.dev/test/integration/cluster"
)

// grant binds a user to a role of its own name with these verbs, and waits until
// the authorizer knows. Without -cluster it holds in the namespace of the script.
//
//	grant [-cluster] USER VERB[,VERB…] RESOURCE.GROUP[/SUBRESOURCE][,…]
func grant(c *cluster.Cluster) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		namespace := ts.Getenv("NS")
		if len(args) > 0 && args[0] == "-cluster" {
			namespace, args = "", args[1:]
		}
		if neg || len(args) != 3 {
			ts.Fatalf("usage: grant [-cluster] USER VERB[,VERB…] RESOURCE.GROUP[/SUBRESOURCE][,…]")
		}
		config, err := c.Config("admin")
		ts.Check(err)
		client, err := kubernetes.NewForConfig(config)
		ts.Check(err)
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		user, verbs := args[0], strings.Split(args[1], ",")
		var rules []rbacv1.PolicyRule
		for _, resource := range strings.Split(args[2], ",") {
			name, group, subresource := parts(resource)
			if subresource != "" {
				name += "/" + subresource
			}
			rules = append(rules, rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{name}, Verbs: verbs})
		}
		ts.Check(bind(ctx, client, namespace, user, rules))
		for _, resource := range strings.Split(args[2], ",") {
			for _, verb := range verbs {
				ts.Check(known(ctx, client, namespace, user, verb, resource))
			}
		}
	}
}

// parts takes deployments.apps/scale apart.
func parts(resource string) (name, group, subresource string) {
	resource, subresource, _ = strings.Cut(resource, "/")
	name, group, _ = strings.Cut(resource, ".")
	return name, group, subresource
}

func bind(ctx context.Context, client kubernetes.Interface, namespace, user string, rules []rbacv1.PolicyRule) error {
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

// known waits until the authorizer allows a user the verb.
func known(ctx context.Context, client kubernetes.Interface, namespace, user, verb, resource string) error {
	name, group, subresource := parts(resource)
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user,
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: verb, Group: group, Resource: name, Subresource: subresource,
		},
	}}
	return wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		answer, err := client.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		if err != nil {
			return false, err
		}
		return answer.Status.Allowed, nil
	})
}
