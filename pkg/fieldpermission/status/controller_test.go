// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	kubefake "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/client/clientset/versioned/fake"
	"kube-granular.dev/pkg/fieldpermission"
	. "kube-granular.dev/pkg/fieldpermission/fieldpermissiontest"
)

// controllerOf returns the controller of a server with one definition, which the returned function replaces. reads counts
// how often the whole definition was read.
func controllerOf(t *testing.T, objects ...*v1alpha1.FieldPermission) (c *Controller, replace func(*apiextensionsv1.CustomResourceDefinition), reads *int) {
	t.Helper()
	factory := informers.NewSharedInformerFactory(kubefake.NewClientset(
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "all"}, Rules: []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}}},
		&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "b"}, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "all"},
			Subjects: []rbacv1.Subject{{Kind: "User", Name: "ops"}}},
	), 0)
	roles, err := fieldpermission.NewRoles(factory.Rbac().V1(), func() {})
	if err != nil {
		t.Fatal(err)
	}
	factory.StartWithContext(t.Context())
	t.Cleanup(factory.Shutdown)
	roles.WaitForSync(t.Context().Done())
	index, client := fieldpermission.NewIndex(), fake.NewSimpleClientset()
	for _, p := range objects {
		index.Observe(p, false)
		if err := client.Tracker().Add(p.DeepCopy()); err != nil {
			t.Fatal(err)
		}
	}
	var crd *apiextensionsv1.CustomResourceDefinition
	informer := cache.NewSharedIndexInformer(nil, &metav1.PartialObjectMetadata{}, 0, nil)
	reads = new(int)
	c = &Controller{
		Config: Config{Index: index, Resources: Resources(), Roles: roles}, client: client, known: map[string]knownState{},
		definitions: &definitions{metadata: informer, known: map[string]knownResource{},
			read: func(context.Context, string) (*apiextensionsv1.CustomResourceDefinition, error) {
				*reads++
				return crd, nil
			}},
	}
	replace = func(next *apiextensionsv1.CustomResourceDefinition) {
		if crd = next; crd == nil {
			if err := informer.GetStore().Delete(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "applications.argoproj.io"}}); err != nil {
				t.Fatal(err)
			}
			return
		}
		if err := informer.GetStore().Add(&metav1.PartialObjectMetadata{ObjectMeta: crd.ObjectMeta}); err != nil {
			t.Fatal(err)
		}
	}
	return c, replace, reads
}

// TestRounds holds that the server that leads writes each status that is out of date, that the others add only what they
// counted, and that a definition is read again only when it has changed.
func TestRounds(t *testing.T) {
	p := &v1alpha1.FieldPermission{
		ObjectMeta: metav1.ObjectMeta{Name: "applications.argoproj.io", ResourceVersion: "1", Generation: 1},
		Spec: v1alpha1.FieldPermissionSpec{Version: "v1", Mode: v1alpha1.ModeAudit,
			Fields: []v1alpha1.FieldEntry{{Path: ".spec.destination", Permission: "argoproj.io/d", Excluded: true}}},
	}
	c, replace, reads := controllerOf(t, p)
	crd := Definition(t, Applications)
	crd.ResourceVersion = "1"
	replace(crd)
	get := func() *v1alpha1.FieldPermission {
		t.Helper()
		got, err := c.client.AuthorityV1alpha1().FieldPermissions().Get(t.Context(), p.Name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	entries, _ := c.Index.Entries("argoproj.io", "applications")
	c.Index.Counted(entries, ".spec.destination", "eve")
	if !c.round(t.Context(), false) || get().Status.AuditViolations != 1 || get().Status.Kind != "" || *reads != 0 {
		t.Errorf("a server that does not lead: %+v after %d reads", get().Status, *reads)
	}
	if c.Index.Violations(p.Name).Count != 0 {
		t.Error("what was written is still counted")
	}
	stored := get()
	stored.ResourceVersion = "2"
	c.Index.Observe(stored, false)
	for range 3 {
		if !c.round(t.Context(), true) {
			t.Error("the round failed")
		}
	}
	status := get().Status
	if status.Kind != "Application" || status.NotHeldCount != 1 || status.NotHeld[0].Name != "ops" ||
		status.AuditViolations != 1 || !slices.Equal(status.AuditUsers, []string{"eve"}) || *reads != 1 {
		t.Errorf("the server that leads: %+v after %d reads", status, *reads)
	}
	changed := crd.DeepCopy()
	changed.ResourceVersion = "2"
	delete(changed.Spec.Versions[1].Schema.OpenAPIV3Schema.Properties["spec"].Properties, "destination")
	replace(changed)
	c.round(t.Context(), true)
	if status := get().Status; status.Fields[0].State != v1alpha1.EntryIdle || *reads != 2 {
		t.Errorf("after a change of the definition: %+v after %d reads", status, *reads)
	}
	replace(nil)
	c.round(t.Context(), true)
	if status := get().Status; status.Conditions[0].Reason != v1alpha1.ReasonNotServedHere || len(status.Fields) > 0 {
		t.Errorf("without a definition: %+v", status)
	}
}

// TestWithoutRoles holds that the statuses are written on a server that serves no roles, and name no holders.
func TestWithoutRoles(t *testing.T) {
	p := &v1alpha1.FieldPermission{
		ObjectMeta: metav1.ObjectMeta{Name: "applications.argoproj.io", ResourceVersion: "1", Generation: 1},
		Spec: v1alpha1.FieldPermissionSpec{Version: "v1", Mode: v1alpha1.ModeEnforce,
			Fields: []v1alpha1.FieldEntry{{Path: ".spec.destination", Permission: "argoproj.io/d", Excluded: true}}},
	}
	c, replace, _ := controllerOf(t, p)
	crd := Definition(t, Applications)
	crd.ResourceVersion = "1"
	replace(crd)
	c.Roles = nil
	if !c.round(t.Context(), true) {
		t.Error("the round failed")
	}
	got, err := c.client.AuthorityV1alpha1().FieldPermissions().Get(t.Context(), p.Name, metav1.GetOptions{})
	if err != nil || got.Status.Kind != "Application" || got.Status.Fields[0].State != v1alpha1.EntryActive || got.Status.NotHeldCount != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}
