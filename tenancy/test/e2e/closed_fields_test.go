// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kube-granular.dev/tenancy/internal/names"
)

const closedServices = `
apiVersion: authority.kube-granular.dev/v1alpha1
kind: FieldPermission
metadata: {name: services}
spec:
  version: v1
  mode: Enforce
  fields: [{path: .spec.externalIPs, permission: example.com/externalIPs, excluded: true}]
`

// TestSudoIsHeld holds that sudo does not reach a field that a FieldPermission closes, also in the sudoer's own namespace: the
// rules of sudo enumerate verbs and have no *. The plan of the FieldPermission names the group of sudoers before, and the
// controller reports the closed field.
//
// Attack: an administrator closes a field, and a sudoer of a tenant writes it in the tenant's namespace
// Answer: 403, which names the FieldPermission; every other field is open as before
func TestSudoIsHeld(t *testing.T) {
	c := newCluster(t, "granular", "--feature-gates", "FieldPermissions=true")
	c.run(t, "--field-permissions")
	lns := c.make(t, tenant("closed"))
	sudo := c.sudo(t, lns.Spec.Sudoers[0].Name, lns.Name)
	service := func(name string, addresses ...string) *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: lns.Name},
			Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}, ExternalIPs: addresses}}
	}
	if err := sudo.Create(t.Context(), service("before", "192.0.2.1")); err != nil {
		t.Errorf("a field that is not closed: %v", err)
	}
	file := filepath.Join(t.TempDir(), "services.yaml")
	if err := os.WriteFile(file, []byte(closedServices), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := c.kubectl("admin", "granular", "field-permission", "plan", "-f", file)
	if group := "Group " + names.SudoGroup(lns.Name); err != nil || !strings.Contains(out, group) || !strings.Contains(out, "is stopped") {
		t.Errorf("the plan does not say that %s is stopped: %v\n%s", group, err, out)
	}
	if out, err := c.kubectl("admin", "apply", "-f", file); err != nil {
		t.Fatal(out)
	}
	const line = "services .spec.externalIPs: granular:example.com/externalIPs"
	wait(t, "the report of the controller", func() error { return c.closedToSudo(t, line) })
	err = sudo.Create(t.Context(), service("after", "192.0.2.1"))
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "(excluded by FieldPermission services)") {
		t.Errorf("the closed field: %v", err)
	}
	if err := sudo.Create(t.Context(), service("after")); err != nil {
		t.Errorf("the other fields: %v", err)
	}
	if out, err := c.kubectl("admin", "delete", "-f", file); err != nil {
		t.Fatal(out)
	}
	wait(t, "an empty report", func() error { return c.closedToSudo(t, "") })
}

// closedToSudo returns an error if the fields that the controller reports as closed to sudo are not those wanted.
func (c *cluster) closedToSudo(t *testing.T, want string) error {
	role := &rbacv1.ClusterRole{}
	if err := c.client.Get(t.Context(), client.ObjectKey{Name: names.SudoRole}, role); err != nil {
		return err
	}
	if got, reported := role.Annotations[names.ClosedToSudo]; !reported || got != want {
		return fmt.Errorf("reported %q, want %q", got, want)
	}
	return nil
}
