// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package adopt_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"kube-granular.dev/tenancy/api/v1alpha1"
	"kube-granular.dev/tenancy/internal/adopt"
	"kube-granular.dev/tenancy/internal/names"
)

// world is a cluster in memory with the namespace web, which has a binding to edit.
func world(t *testing.T, created func(client.Client), objects ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	edit := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "edit"}, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"create"}}}}
	admin := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "admin"}, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods", "roles"}, Verbs: []string{"create"}}}}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "namespace"}}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(append(objects, edit, admin, ns, editors("ada"))...).
		WithInterceptorFuncs(interceptor.Funcs{Create: func(ctx context.Context, api client.WithWatch, object client.Object, options ...client.CreateOption) error {
			switch o := object.(type) {
			case *authorizationv1.SelfSubjectAccessReview:
				o.Status.Allowed = true
				return nil
			case *v1alpha1.LNamespace:
				o.UID = "tenant"
			}
			err := api.Create(ctx, object, options...)
			if dry := (&client.CreateOptions{}).ApplyOptions(options); len(dry.DryRun) == 0 && created != nil {
				created(api)
			}
			return err
		}}).Build()
}

func editors(who ...string) *rbacv1.RoleBinding {
	b := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "editors"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"}}
	for _, name := range who {
		b.Subjects = append(b.Subjects, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "User", Name: name})
	}
	return b
}

func plan(t *testing.T, api client.Client) *adopt.Plan {
	t.Helper()
	p, err := adopt.Make(t.Context(), api, []adopt.Wish{{Name: "web"}}, adopt.Options{
		Lists: adopt.Lists{Users: []string{"edit"}}, UserRole: "edit", Progress: func(int, int) {}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestApplyLooksAgain checks that a namespace is handed over as it was planned, or not at all.
//
// Attack: between the plan and the handing over, somebody changes the lists of the LNamespace, takes the namespace,
// or deletes it
// Answer: it is not handed over; without such a change it is
func TestApplyLooksAgain(t *testing.T) {
	change := func(object client.Object, change func()) func(client.Client) {
		return func(api client.Client) {
			if err := api.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
				t.Error(err)
			}
			change()
			if err := api.Update(t.Context(), object); err != nil {
				t.Error(err)
			}
		}
	}
	lns, ns := &v1alpha1.LNamespace{ObjectMeta: metav1.ObjectMeta{Name: "web"}}, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	for name, tc := range map[string]struct {
		created func(client.Client)
		says    string
	}{
		"nobody": {nil, "web adopted"},
		"the lists": {change(lns, func() { lns.Spec.Sudoers = []v1alpha1.Subject{{Kind: "User", Name: "mallory"}} }),
			"spec.sudoers is not as planned"},
		"the namespace": {change(ns, func() { ns.Annotations = map[string]string{names.AdoptedBy: "another"} }), "belongs to another LNamespace"},
		"an owner": {change(lns, func() {
			lns.OwnerReferences = []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: "LNamespace", Name: "eve", UID: "eve"}}
		}), "metadata.ownerReferences is not empty"},
		"the namespace, made again": {change(ns, func() { ns.UID = "another" }), "metadata.uid is not as planned"},
		"another label":             {change(ns, func() { ns.Labels = map[string]string{"a": "b"} }), "web adopted"},
	} {
		api := world(t, tc.created)
		var out bytes.Buffer
		err := plan(t, api).Apply(t.Context(), api, &out)
		adopted := strings.Contains(tc.says, "adopted")
		if (err == nil) != adopted || !strings.Contains(out.String(), tc.says) {
			t.Errorf("%s: %v, %s", name, err, out.String())
		}
		now := &corev1.Namespace{}
		if err := api.Get(t.Context(), client.ObjectKey{Name: "web"}, now); err != nil {
			t.Fatal(err)
		}
		if got := now.Annotations[names.AdoptedBy] == "tenant"; got != adopted {
			t.Errorf("%s: handed over is %t", name, got)
		}
	}
}

// TestMarksRefuse checks that a namespace is not handed over while it has what only the controller writes, or an LNamespace with
// an owner.
//
// Attack: the administrator of a namespace marks a binding as made from outside, or as the controller's, before the namespace is handed
// over, so that nobody looks at it later
// Was: got through
// Answer: refused, naming the binding and the mark
// Attack: somebody creates the LNamespace of a namespace with an owner, and deletes the owner when the namespace is handed over
// Was: got through, and the people of the tenant lost their rights
// Answer: refused
func TestMarksRefuse(t *testing.T) {
	marked := func(change func(*rbacv1.RoleBinding)) client.Object {
		b := editors("ada")
		b.Name = "marked"
		change(b)
		return b
	}
	owned := &v1alpha1.LNamespace{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "tenant",
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "x", UID: "x"}}},
		Spec: v1alpha1.LNamespaceSpec{Users: []v1alpha1.Subject{{Kind: "User", Name: "ada"}}}}
	for name, tc := range map[string]struct {
		object  client.Object
		refused string
	}{
		"made from outside": {marked(func(b *rbacv1.RoleBinding) { b.Labels = map[string]string{names.MadeFromOutside: "true"} }), names.MadeFromOutside},
		"the controller's":  {marked(func(b *rbacv1.RoleBinding) { b.Labels = map[string]string{names.Tenant: "web"} }), names.Tenant},
		"a maker":           {marked(func(b *rbacv1.RoleBinding) { b.Annotations = map[string]string{names.Maker: "x"} }), names.Maker},
		"another label":     {marked(func(b *rbacv1.RoleBinding) { b.Labels = map[string]string{"a": "b"} }), ""},
		"an owner":          {owned, "with owners"},
	} {
		api := world(t, nil, tc.object)
		n := plan(t, api).Namespaces[0]
		if (n.State == adopt.Refused) != (tc.refused != "") || !strings.Contains(n.Reason, tc.refused) {
			t.Errorf("%s: %s, %s", name, n.State, n.Reason)
		}
		accepted, err := adopt.Make(t.Context(), api, []adopt.Wish{{Name: "web"}}, adopt.Options{
			Lists: adopt.Lists{Users: []string{"edit"}}, UserRole: "edit", AcceptMarks: true, Progress: func(int, int) {}})
		if err != nil {
			t.Fatal(err)
		}
		if n := accepted.Namespaces[0]; (n.State == adopt.Refused) != (name == "an owner") {
			t.Errorf("%s, with marks accepted: %s, %s", name, n.State, n.Reason)
		}
	}
}

// TestConfirmSparesWhatChanged checks that a binding is deleted as it was compared, or not at all.
//
// Attack: between the comparison and the deletion, somebody adds a person to an old binding, or the tenant
// grants the rights no longer
// Answer: the binding stays; without such a change it is deleted
func TestConfirmSparesWhatChanged(t *testing.T) {
	adopted := func() []client.Object {
		lns := &v1alpha1.LNamespace{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "tenant", Generation: 1}, Spec: v1alpha1.LNamespaceSpec{Users: []v1alpha1.Subject{{Kind: "User", Name: "ada"}}},
			Status: v1alpha1.LNamespaceStatus{NamespaceUID: "namespace", Granted: v1alpha1.Granted{Users: []v1alpha1.Subject{{Kind: "User", Name: "ada"}}}, Conditions: []metav1.Condition{{Type: "Ready", Status: "True", ObservedGeneration: 1}}}}
		controller := true
		granted := editors("ada")
		granted.Name, granted.Labels = names.UsersBinding, map[string]string{names.ManagedBy: names.Manager, names.Tenant: "web"}
		granted.OwnerReferences = []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: "LNamespace", Name: "web", UID: "tenant", Controller: &controller}}
		return []client.Object{lns, granted}
	}
	for name, tc := range map[string]struct {
		objects func([]client.Object) // before the plan
		after   *rbacv1.RoleBinding   // what the binding is after the plan
		deleted bool
		says    string
	}{
		"nobody":        {deleted: true, says: "rolebinding/editors in web deleted"},
		"a person more": {after: editors("ada", "bob"), says: "not deleted"},
		"not granted":   {objects: func(all []client.Object) { all[1].(*rbacv1.RoleBinding).Subjects = nil }, says: "User ada would lose pods: create"},
		"a grant that ends": {objects: func(all []client.Object) {
			all[0].(*v1alpha1.LNamespace).Spec.Users = []v1alpha1.Subject{{Kind: "User", Name: "eve"}}
		}, says: "User ada would lose pods: create"},
		"a forged grant":     {objects: func(all []client.Object) { all[1].SetOwnerReferences(nil) }, says: "User ada would lose pods: create"},
		"another generation": {objects: func(all []client.Object) { all[0].SetGeneration(2) }, says: "the tenant is not ready"},
	} {
		objects := adopted()
		if tc.objects != nil {
			tc.objects(objects)
		}
		api := world(t, nil, objects...)
		p := plan(t, api)
		if tc.after != nil {
			if err := api.Update(t.Context(), tc.after); err != nil {
				t.Fatal(err)
			}
		}
		var out bytes.Buffer
		err := p.Confirm(t.Context(), api, &out)
		left := api.Get(t.Context(), client.ObjectKeyFromObject(editors()), &rbacv1.RoleBinding{})
		if !strings.Contains(out.String(), tc.says) || (left != nil) != tc.deleted {
			t.Errorf("%s: %v, %v\n%s", name, err, left, out.String())
		}
		if strings.Contains(tc.says, "would lose") != (err == nil) && !tc.deleted {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestApplyIsStopped checks that a run which is interrupted says so, and how to go on.
func TestApplyIsStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	api := world(t, nil)
	p := plan(t, api)
	cancel()
	var out bytes.Buffer
	stopped := interceptor.NewClient(api.(client.WithWatch), interceptor.Funcs{
		Get: func(ctx context.Context, _ client.WithWatch, _ client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
			return ctx.Err()
		}})
	if err := p.Apply(ctx, stopped, &out); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), `stopped at the namespace "web", after 0 of 1`) {
		t.Errorf("%v, %s", err, out.String())
	}
}
