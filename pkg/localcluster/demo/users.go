// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Supersafe is the demo's service account, in Namespace.
const Supersafe = "supersafe"

// Users are the demo's ordinary users. They have client certificates. editor has the built-in role
// edit, and viewer has view.
var Users = []string{"editor", "viewer"}

// tokenLifetime is the lifetime of the token of Supersafe. It is long, because only a start of the
// cluster renews the token.
const tokenLifetime = 365 * 24 * time.Hour

// Token requests a token of the service account Supersafe.
func Token(ctx context.Context, cfg *rest.Config) (string, error) {
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return "", err
	}
	seconds := int64(tokenLifetime / time.Second)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	response, err := client.CoreV1().ServiceAccounts(Namespace).CreateToken(ctx, Supersafe, request, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("token for service account %s/%s: %w", Namespace, Supersafe, err)
	}
	return response.Status.Token, nil
}

// grant is a verb that a user of the demo holds on the deployment "web".
type grant struct{ user, verb string }

func grants() []grant {
	return []grant{
		{"system:serviceaccount:" + Namespace + ":" + Supersafe, "granular:condition(SuperSafe)"},
		{"editor", "patch"},
		{"viewer", "get"},
	}
}

// WaitForGrants waits until the server allows what the roles of the manifests grant. The caches of
// RBAC, and the controller that fills the built-in roles, lag behind the objects. WaitForGrants
// must be called only if RBAC is one of the authorizers. Even then another authorizer may deny the
// requests forever, so ctx should have a deadline.
func WaitForGrants(ctx context.Context, cfg *rest.Config) error {
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return err
	}
	for _, g := range grants() {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: g.user,
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: Namespace, Verb: g.verb, Group: "apps", Version: "v1", Resource: "deployments", Name: "web",
			},
		}}
		err := wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
			answer, err := client.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
			if err != nil {
				return false, err
			}
			return answer.Status.Allowed, nil
		})
		if err != nil {
			return fmt.Errorf("wait until user %q may %q the deployment: %w", g.user, g.verb, err)
		}
	}
	return nil
}
