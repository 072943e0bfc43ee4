// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/names"
)

// TestNamespaceBelongsToItsTenant checks that only who may write the status of an LNamespace changes
// the labels and annotations by which a namespace belongs to it.
//
// Attack: with sudo that may change the Namespace object, or as somebody who may update namespaces, a caller
// removes the label by which the policies for sudo find the namespace, or hands the namespace over
// Answer: 403, also by the subresources status and finalize; other labels and annotations can be changed
func TestNamespaceBelongsToItsTenant(t *testing.T) {
	lns := tenant("labelled")
	shared.make(t, lns)
	shared.change(t, lns, func(s *v1alpha1.LNamespaceSpec) { s.Sudo.Allow = []v1alpha1.SudoAllowance{v1alpha1.AllowNamespace} })
	meta := metav1.ObjectMeta{Name: "labelled-operator"}
	role := &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""},
		Resources: []string{"namespaces", "namespaces/status", "namespaces/finalize"}, Verbs: []string{"get", "update", "patch"}}}}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: meta.Name}}}
	create(t, shared.client, role, binding)
	t.Cleanup(func() {
		if err := errors.Join(shared.client.Delete(context.Background(), role), shared.client.Delete(context.Background(), binding)); err != nil {
			t.Log(err)
		}
	})
	group := names.SudoGroup(lns.Name)
	shared.allowed(t, "x", []string{group}, "update", "namespaces", lns.Name, lns.Name)
	shared.allowed(t, meta.Name, nil, "update", "namespaces/finalize", "", lns.Name)
	sudo, operator := shared.as(t, "labelled-sudoer", group), shared.as(t, meta.Name)
	plainly := func(c client.Client) func(*corev1.Namespace) error {
		return func(ns *corev1.Namespace) error { return c.Update(t.Context(), ns) }
	}
	paths := map[string]func(*corev1.Namespace) error{
		"sudo":     plainly(sudo),
		"operator": plainly(operator),
		"status":   func(ns *corev1.Namespace) error { return operator.Status().Update(t.Context(), ns) },
		"finalize": func(ns *corev1.Namespace) error { return operator.SubResource("finalize").Update(t.Context(), ns) },
	}
	edit := func(how func(*corev1.Namespace) error, change func(*corev1.Namespace)) error {
		ns := &corev1.Namespace{}
		if err := shared.client.Get(t.Context(), client.ObjectKey{Name: lns.Name}, ns); err != nil {
			t.Fatal(err)
		}
		change(ns)
		return how(ns)
	}
	note := func(ns *corev1.Namespace, key, value string) {
		if ns.Annotations == nil {
			ns.Annotations = map[string]string{}
		}
		ns.Annotations[key] = value
	}
	for path, how := range paths {
		for name, change := range map[string]func(*corev1.Namespace){
			"the label removed":      func(ns *corev1.Namespace) { delete(ns.Labels, names.Tenant) },
			"the label changed":      func(ns *corev1.Namespace) { ns.Labels[names.Tenant] = "other" },
			"another label":          func(ns *corev1.Namespace) { ns.Labels["tenancy.kube-granular.dev/x"] = "y" },
			"the manager removed":    func(ns *corev1.Namespace) { delete(ns.Labels, names.ManagedBy) },
			"the manager changed":    func(ns *corev1.Namespace) { ns.Labels[names.ManagedBy] = "other" },
			"handed over":            func(ns *corev1.Namespace) { note(ns, names.AdoptedBy, "some-uid") },
			"made for another":       func(ns *corev1.Namespace) { note(ns, names.CreatedFor, "some-uid") },
			"the annotation removed": func(ns *corev1.Namespace) { delete(ns.Annotations, names.CreatedFor) },
		} {
			wait(t, path+": "+name, func() error { return wantForbidden(edit(how, change)) })
		}
		if err := edit(how, func(ns *corev1.Namespace) {
			ns.Labels["pod-security.kubernetes.io/enforce"] = "baseline"
			note(ns, "example.com/by", path)
		}); err != nil {
			t.Errorf("%s: other labels: %v", path, err)
		}
	}
	if err := edit(plainly(shared.client), func(ns *corev1.Namespace) { note(ns, names.AdoptedBy, string(lns.UID)) }); err != nil {
		t.Errorf("the administrator: %v", err)
	}
}

// TestUsersDoNotShareTheirName checks that a User among the sudoers can't act as the user that groups
// and service accounts share, even if there are some in the list.
//
// Attack: a sudoer who is listed as a User uses sudo as the user that the tenant's groups and service accounts
// share, so that what it makes does not count as left over when it leaves
// Answer: 403; a member of a group that is listed may
// Held by: TestOtherSudoers
func TestUsersDoNotShareTheirName(t *testing.T) {
	lns := tenant("shared-name")
	lns.Spec.Sudoers = append(lns.Spec.Sudoers, v1alpha1.Subject{Kind: v1alpha1.GroupKind, Name: "shared-name-ops"})
	shared.make(t, lns)
	shared.allowed(t, "olga", []string{"shared-name-ops"}, "impersonate", "users", "", names.SudoUser(lns.Name))
	shared.allowed(t, "shared-name-sudoer", nil, "impersonate", "users", "", names.SudoerUser(lns.Name, "shared-name-sudoer"))
	shared.allowed(t, "shared-name-sudoer", nil, "impersonate", "groups", "", names.SudoGroup(lns.Name))
	if err := shared.may("shared-name-sudoer", nil, "impersonate", "users", "", names.SudoUser(lns.Name), false); err != nil {
		t.Error(err)
	}
	// When the last group leaves, the role goes.
	shared.change(t, lns, func(s *v1alpha1.LNamespaceSpec) { s.Sudoers = s.Sudoers[:1] })
	shared.gone(t, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: names.SharedImpersonatorRole(lns.Name)}})
	shared.refused(t, "olga", []string{"shared-name-ops"}, "impersonate", "users", "", names.SudoUser(lns.Name))
}

// TestSudoWritesNoStatusOfServices checks that sudo has, of the resources that steer the traffic and the pods of
// others, what the role admin has.
//
// Attack: with sudo, a caller writes the status of a Service to claim an address of others, creates endpoints
// that point into another namespace, or binds a pod to a node
// Answer: 403; it may read them, and write the Service itself
func TestSudoWritesNoStatusOfServices(t *testing.T) {
	lns := shared.make(t, tenant("traffic"))
	group := []string{names.SudoGroup(lns.Name)}
	shared.allowed(t, "x", group, "update", "services", lns.Name, "")
	for _, q := range []struct{ verb, resource string }{
		{"update", "services/status"}, {"patch", "pods/status"}, {"create", "endpoints"}, {"patch", "endpointslices"}, {"create", "bindings"}, {"create", "pods/binding"},
	} {
		shared.refused(t, "x", group, q.verb, q.resource, lns.Name, "")
		if q.resource != "bindings" && q.resource != "pods/binding" { // these can't be read
			shared.allowed(t, "x", group, "get", q.resource, lns.Name, "")
		}
	}
}
