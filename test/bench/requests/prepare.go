// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"kube-granular.dev/test/bench/requests/internal/process"
)

// patience is the timeout for a server to notice a change, such as a new definition.
const patience = time.Minute

// administrator prepares servers. All its methods are idempotent.
type administrator struct{ *process.Client }

func (a administrator) apply(ctx context.Context, path string, object any) error {
	body, err := json.Marshal(object)
	if err != nil {
		return err
	}
	status, answer, _, err := a.Do(ctx, http.MethodPatch, path+"?fieldManager=preparation&force=true", applyPatch, body)
	if err == nil && status != http.StatusOK && status != http.StatusCreated {
		err = fmt.Errorf("apply %s: %d %s", path, status, answer)
	}
	return err
}

func (a administrator) namespace(ctx context.Context, name string, labels map[string]string) error {
	return a.apply(ctx, "/api/v1/namespaces/"+name, map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name, "labels": labels}})
}

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"

// define applies a definition and waits until its kind is served.
func (a administrator) define(ctx context.Context, definition map[string]any, plural string) error {
	if err := a.apply(ctx, definitions+plural+"."+group, definition); err != nil {
		return err
	}
	return answers(ctx, a.Client, "/apis/"+group+"/v1/"+plural, http.StatusOK)
}

func rule(group string, verbs []string, resources ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: verbs}
}

const rbacPath = "/apis/rbac.authorization.k8s.io/v1/namespaces/%s/%s"

// grant creates a role with the rules in a namespace, and a number of role bindings to it: one for
// the caller, and the others for other users.
func (a administrator) grant(ctx context.Context, namespace string, bindings int, rules ...rbacv1.PolicyRule) error {
	meta := func(kind, name string) (metav1.TypeMeta, metav1.ObjectMeta) {
		return metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: kind}, metav1.ObjectMeta{Name: name}
	}
	role := rbacv1.Role{Rules: rules}
	role.TypeMeta, role.ObjectMeta = meta("Role", caller)
	if err := a.apply(ctx, fmt.Sprintf(rbacPath, namespace, "roles")+"/"+caller, role); err != nil {
		return err
	}
	// The binding of the caller is created last: if it exists, all bindings exist.
	collection := fmt.Sprintf(rbacPath, namespace, "rolebindings")
	if status, _, _, err := a.Do(ctx, http.MethodGet, collection+"/"+caller, "", nil); err != nil || status == http.StatusOK {
		return err
	}
	for i := range bindings {
		user := fmt.Sprintf("other-%d", i)
		if i == bindings-1 {
			user = caller
		}
		b := rbacv1.RoleBinding{
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: caller},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		}
		b.TypeMeta, b.ObjectMeta = meta("RoleBinding", user)
		if _, err := a.Ensure(ctx, collection, user, b); err != nil {
			return err
		}
	}
	return nil
}

// may waits until the client is allowed to get path, where there is no object: until the answer is
// 404 and no longer 403.
func may(ctx context.Context, client *process.Client, path string) error {
	return answers(ctx, client, path, http.StatusNotFound)
}

// answers waits until a GET of path is answered with the status want.
func answers(ctx context.Context, client *process.Client, path string, want int) error {
	return until(ctx, path, func(ctx context.Context) (bool, error) {
		status, _, _, err := client.Do(ctx, http.MethodGet, path, "", nil)
		return status == want, err
	})
}

func until(ctx context.Context, what string, done func(context.Context) (bool, error)) error {
	if err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, patience, true, done); err != nil {
		return fmt.Errorf("wait for %s: %w", what, err)
	}
	return nil
}

// joined calls last, and returns err joined with the error of last.
func joined(err error, last func() error) error { return errors.Join(err, last()) }
