// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package concurrency

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"kube-granular.dev/granular/corpus"
	"kube-granular.dev/test/integration/harness"
)

// prepare creates the objects, with the request number 0 in each field, and the users with
// their roles.
func prepare(t *testing.T, w *writers, client kubernetes.Interface) {
	t.Helper()
	admin := func(method, path, contentType string, body map[string]any) {
		data, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		if status, answer, err := send(t.Context(), w.clients[0], "", method, path, contentType, data); err != nil || status >= 300 {
			t.Fatalf("%s: %d %s %v", path, status, answer, err)
		}
	}
	admin(http.MethodPost, "/api/v1/namespaces", "application/json", map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "concurrency"}})
	admin(http.MethodPost, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "application/json", definition("0"))
	harness.Until(t, "widgets are served", func() bool {
		status, answer, err := send(t.Context(), w.clients[0], "", http.MethodGet, strings.TrimSuffix(widgets, "/"), "", nil)
		if err != nil {
			t.Fatalf("%s, %v", answer, err)
		}
		return status == http.StatusOK
	})
	const ssa = "?fieldManager=prepare&force=true"
	for i := range 6 {
		path := fmt.Sprintf("%sd%d", apps, i)
		body := content(0, []string{"label own", "label other", "annotation", "replicas", "history"})
		spec := map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"app": "c"}},
			"template": template()}
		body = corpus.Overlay(map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "spec": spec}, body)
		body = corpus.Overlay(body, content(0, []string{"template label"}))
		harness.SetAt(body, fmt.Sprintf("d%d", i), "metadata", "name")
		admin(http.MethodPatch, path+ssa, "application/apply-patch+yaml", body)
		admin(http.MethodPatch, path+"/status", "application/merge-patch+json", content(0, []string{"condition own"}))
	}
	for i := range 3 {
		body := content(0, []string{"label own", "label other", "annotation"})
		body["apiVersion"], body["kind"] = "concurrency.example.com/v1", "Widget"
		harness.SetAt(body, fmt.Sprintf("w%d", i), "metadata", "name")
		admin(http.MethodPatch, fmt.Sprintf("%sw%d%s", widgets, i, ssa), "application/apply-patch+yaml", body)
	}
	for user, verbs := range users {
		bind(t, client, user, user, append([]string{"get"}, verbs...))
		for _, verb := range verbs {
			if err := holds(t.Context(), w, user, verb, true); err != nil {
				t.Fatal(err)
			}
		}
	}
	bind(t, client, flipping+"-more", flipping, nil)
}

func bind(t *testing.T, client kubernetes.Interface, name, user string, verbs []string) {
	t.Helper()
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules(verbs)}
	if _, err := client.RbacV1().Roles("concurrency").Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err := client.RbacV1().RoleBindings("concurrency").Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

func rules(verbs []string) []rbacv1.PolicyRule {
	if len(verbs) == 0 {
		return nil
	}
	return []rbacv1.PolicyRule{
		{APIGroups: []string{"apps"}, Resources: []string{"deployments", "deployments/status", "deployments/scale"},
			Verbs: verbs},
		{APIGroups: []string{"concurrency.example.com"}, Resources: []string{"widgets"}, Verbs: verbs},
	}
}

// holds waits until the authorizer allows a user a verb, or no longer allows it if want is
// false.
func holds(ctx context.Context, w *writers, user, verb string, want bool) error {
	review, err := json.Marshal(map[string]any{"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": map[string]any{
		"user": user, "resourceAttributes": map[string]any{"namespace": "concurrency", "verb": verb, "group": "apps", "resource": "deployments"},
	}})
	if err != nil {
		return err
	}
	return wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		_, answer, err := send(ctx, w.clients[0], "", http.MethodPost, "/apis/authorization.k8s.io/v1/subjectaccessreviews", "application/json", review)
		return strings.Contains(answer, `"allowed":true`) == want && strings.Contains(answer, `"status"`), err
	})
}

// template returns a minimal pod template.
func template() map[string]any {
	return map[string]any{
		"metadata": map[string]any{"labels": map[string]any{"app": "c"}},
		"spec":     map[string]any{"containers": []any{map[string]any{"name": "c", "image": "registry.example/c:1.0"}}},
	}
}
