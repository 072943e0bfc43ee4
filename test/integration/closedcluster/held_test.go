// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package closedcluster

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube-granular.dev/test/integration/harness"
)

// The bootstrap bindings of the verb bypass on FieldPermissions.
const (
	controllersBinding = "system:kube-granular:field-permissions-controllers"
	nodesBinding       = "system:kube-granular:field-permissions-nodes"
)

// editorIsHeld is the twin of the whole life: who holds each ordinary verb and is not in the bindings is refused, also what the
// controllers write.
func (w *closedCluster) editorIsHeld(t *testing.T) {
	if _, err := w.client.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "closed"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.Allow(t, w.client, "editor-of-all", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "update", "patch", "create"}})
	for what, body := range map[string]string{
		"data": `{"data":{"a":"b"}}`, "finalizers": `{"metadata":{"finalizers":["example.com/a"]}}`,
	} {
		code, text, err := harness.Request(w.Cluster, "editor-of-all", http.MethodPatch, "/api/v1/namespaces/default/configmaps/closed", harness.ContentTypes["merge"], body)
		if err != nil || code != http.StatusForbidden || !strings.Contains(text, "(excluded by FieldPermission configmaps)") {
			t.Errorf("%s: %d %s %v", what, code, text, err)
		}
	}
	code, text, err := harness.Request(w.Cluster, "editor-of-all", http.MethodPatch, "/api/v1/namespaces/default/configmaps/closed", harness.ContentTypes["merge"], `{"metadata":{"labels":{"a":"b"}}}`)
	if err != nil || code != http.StatusOK {
		t.Errorf("what is not closed: %d %s %v", code, text, err)
	}
}

// unbound is the twin of the controllers: without the bindings, the accounts that write closed fields are refused, and with
// them they go on.
func (w *closedCluster) unbound(t *testing.T, events int) {
	bindings := w.client.RbacV1().ClusterRoleBindings()
	subjects := map[string][]rbacv1.Subject{}
	for _, name := range []string{controllersBinding, nodesBinding} {
		binding, err := bindings.Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		subjects[name], binding.Subjects = binding.Subjects, nil
		if _, err := bindings.Update(t.Context(), binding, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	harness.Until(t, "a mirror pod is refused", func() bool {
		err := w.node.mirror(t.Context(), fmt.Sprintf("refused-%d", harness.Unique()))
		return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "(excluded by FieldPermission pods)")
	})
	if _, err := w.client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "unbound"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.create(t, "testdata/life.yaml", "unbound")
	if _, err := w.client.CoreV1().ConfigMaps("kube-public").Patch(t.Context(), "cluster-info", "application/merge-patch+json",
		[]byte(`{"data":{"jws-kubeconfig-abcdef":null}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	missing := map[string]bool{}
	for _, account := range stopped {
		missing[account] = true
	}
	defer func() {
		if len(missing) > 0 {
			t.Logf("not refused: %v", slices.Sorted(maps.Keys(missing)))
		}
	}()
	harness.Until(t, "the accounts are refused", func() bool {
		_, refused, _ := writes(t, w.log, events)
		for _, r := range refused {
			// What the resource closes, or what pods close in its templates and revisions.
			for _, source := range []string{strings.TrimSuffix(strings.Split(r.resource, "/")[0], "."), "pods"} {
				if strings.Contains(r.message, "(excluded by FieldPermission "+source+")") {
					delete(missing, r.user)
				}
			}
		}
		return len(missing) == 0
	})
	w.has(t, "the deployment says so", "^ReplicaSetCreateError$", "unbound", "deployments.apps/web",
		`{.status.conditions[?(@.type=="Progressing")].reason}`)
	for name, all := range subjects {
		binding, err := bindings.Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		binding.Subjects = all
		if _, err := bindings.Update(t.Context(), binding, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	// After some failures, the controller waits long before it tries again, or for a change.
	harness.MustKubectl(t, w.Cluster, "", "label", "deployment/web", "-n", "unbound", "bound=again")
	w.has(t, "bound again, the deployment is ready", "^3$", "unbound", "deployments.apps/web", "{.status.availableReplicas}")
}

// stopped are the accounts that are refused without the binding.
var stopped = []string{
	"bootstrap-signer", "cronjob-controller", "daemon-set-controller", "deployment-controller", "horizontal-pod-autoscaler", "job-controller",
	"replicaset-controller", "replication-controller", "root-ca-cert-publisher", "statefulset-controller", "ephemeral-volume-controller", "system:kube-controller-manager",
}
