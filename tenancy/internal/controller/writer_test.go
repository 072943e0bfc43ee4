// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/controller"
	"kube-granular.dev/tenancy/internal/names"
)

// picky returns a client whose server refuses bindings that name "poison", and namespaces.
func picky(t *testing.T, objects ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	check := func(object client.Object) error {
		var subjects []rbacv1.Subject
		switch object := object.(type) {
		case *corev1.Namespace:
			return apierrors.NewForbidden(schema.GroupResource{Resource: "namespaces"}, object.Name, errors.New("a policy"))
		case *rbacv1.ClusterRoleBinding:
			subjects = object.Subjects
		case *rbacv1.RoleBinding:
			subjects = object.Subjects
		}
		if slices.ContainsFunc(subjects, func(s rbacv1.Subject) bool { return s.Name == "poison" }) {
			return apierrors.NewInvalid(schema.GroupKind{Kind: "binding"}, object.GetName(), nil)
		}
		return nil
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithIndex(&rbacv1.ClusterRole{}, controller.SudoerIndex, controller.TenantOfSudoerRole).
		WithIndex(&rbacv1.ClusterRoleBinding{}, controller.SudoerIndex, controller.TenantOfSudoerRole).
		WithInterceptorFuncs(interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, object client.Object, o ...client.CreateOption) error {
				return errors.Join(check(object), c.Create(ctx, object, o...))
			},
			Update: func(ctx context.Context, c client.WithWatch, object client.Object, o ...client.UpdateOption) error {
				if err := check(object); err != nil {
					return err
				}
				return c.Update(ctx, object, o...)
			},
		}).Build()
}

func subjects(names ...string) []rbacv1.Subject {
	var all []rbacv1.Subject
	for _, name := range names {
		all = append(all, rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: name})
	}
	return all
}

// TestRefusedEntriesKeepNobody checks that somebody who left a list loses the right even if the server refuses the binding
// because of another entry, and that such an entry gives nobody more.
//
// Attack: a manager adds an entry that the server refuses in a binding, such as the service account a..b, so that no change of
// the list has an effect
// Was: nobody lost a right by leaving the list, until somebody removed the entry
// Answer: the schema refuses the name; if the server refuses a binding all the same, those who left are removed from it
// Held by: TestReservedNames, TestRevokedWithARefusedEntry
func TestRefusedEntriesKeepNobody(t *testing.T) {
	role := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"}
	for name, tc := range map[string]struct{ have, want, got []string }{
		"one left":             {[]string{"ada", "bob"}, []string{"ada", "poison"}, []string{"ada"}},
		"all left":             {[]string{"ada", "bob"}, []string{"poison"}, nil},
		"nobody left":          {[]string{"ada"}, []string{"ada", "poison", "cid"}, []string{"ada"}},
		"one left, one joined": {[]string{"ada", "bob"}, []string{"cid", "ada", "poison"}, []string{"ada"}},
		"nothing is refused":   {[]string{"ada", "bob"}, []string{"cid", "ada"}, []string{"cid", "ada"}},
	} {
		cluster := func(list []string) client.Object {
			return &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "b"}, RoleRef: role, Subjects: subjects(list...)}
		}
		inside := func(list []string) client.Object {
			return &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "b"}, RoleRef: role, Subjects: subjects(list...)}
		}
		for _, binding := range []func([]string) client.Object{cluster, inside} {
			api := picky(t, binding(tc.have))
			err := controller.Ensure(t.Context(), api, binding(tc.want))
			if (err != nil) != slices.Contains(tc.want, "poison") {
				t.Errorf("%s: %v", name, err)
			}
			got := binding(nil)
			if err := api.Get(t.Context(), client.ObjectKeyFromObject(got), got); err != nil {
				t.Fatal(err)
			}
			if have := *controller.SubjectsOf(got); !slices.Equal(have, subjects(tc.got...)) {
				t.Errorf("%s: %v", name, have)
			}
		}
	}
}

// TestNamespacesThatFailKeepNobody checks that a former manager and a former sudoer lose what they had although the
// namespace of their tenant can't be created, and that nobody gets anything.
func TestNamespacesThatFailKeepNobody(t *testing.T) {
	lns := &v1alpha1.LNamespace{ObjectMeta: metav1.ObjectMeta{Name: "team", UID: "u", Finalizers: []string{names.Finalizer}}}
	user := func(name string) v1alpha1.Subject { return v1alpha1.Subject{Kind: v1alpha1.UserKind, Name: name} }
	lns.Spec.Managers = []v1alpha1.Subject{user("mia"), user("new")}
	lns.Spec.Sudoers = []v1alpha1.Subject{user("sue")}
	lns.Status = v1alpha1.LNamespaceStatus{NamespaceUID: "gone", Granted: v1alpha1.Granted{Sudoers: []v1alpha1.Subject{user("sue"), user("left")}}}
	binding := func(name string, who ...string) client.Object {
		return &rbacv1.ClusterRoleBinding{Subjects: subjects(who...),
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{names.ManagedBy: names.Manager, names.Tenant: "team"}},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}}
	}
	former, present := names.SudoerRole("team", "left"), names.SudoerRole("team", "sue")
	api := picky(t, lns, binding(names.ManagerRole("team"), "mia", "ben"), binding(former, "left"), binding(present, "sue"))
	if err := controller.ReconcileTenant(t.Context(), api, "team"); !apierrors.IsForbidden(err) {
		t.Fatalf("the namespace can be created: %v", err)
	}
	all := &rbacv1.ClusterRoleBindingList{}
	if err := api.List(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	got := map[string][]rbacv1.Subject{}
	for i := range all.Items {
		got[all.Items[i].Name] = all.Items[i].Subjects
	}
	if len(got) != 2 || !slices.Equal(got[names.ManagerRole("team")], subjects("mia")) || !slices.Equal(got[present], subjects("sue")) {
		t.Errorf("bindings: %v", got)
	}
}
