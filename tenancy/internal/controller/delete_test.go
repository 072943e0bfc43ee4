// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"kube-granular.dev/tenancy/internal/controller"
)

// TestDeleteLeavesNoRights checks what delete does with an object that is still there after its
// deletion was answered.
func TestDeleteLeavesNoRights(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := rbacv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "ada"}}
	binding := func(finalizers ...string) client.Object {
		return &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "b", UID: "1", Finalizers: finalizers}, Subjects: subjects}
	}
	role := func(finalizers ...string) client.Object {
		return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "r", UID: "2", Finalizers: finalizers}}
	}
	for name, tc := range map[string]struct {
		object  client.Object
		ignored int // so many patches change nothing
		patches int
		gone    bool
		refused string
	}{
		"nothing holds it":                  {object: binding(), gone: true},
		"a finalizer":                       {object: binding("example.com/stay"), patches: 1, gone: true},
		"a finalizer that comes back once":  {object: binding("example.com/stay"), ignored: 1, patches: 2, gone: true},
		"a finalizer that comes back again": {object: binding("example.com/stay"), ignored: 2, patches: 2, refused: "RoleBinding team/b"},
		"a role with a finalizer":           {object: role("example.com/stay"), patches: 1, gone: true},
		"a role that stays":                 {object: role("example.com/stay"), ignored: 1, patches: 1, refused: "ClusterRole r"},
	} {
		patches, reads := 0, 0
		c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(tc.object.DeepCopyObject().(client.Object)).WithInterceptorFuncs(interceptor.Funcs{
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
				text, err := p.Data(o)
				if err != nil || p.Type() != types.MergePatchType || !strings.Contains(string(text), `"uid":"`+string(tc.object.GetUID())+`"`) {
					t.Errorf("%s: the patch %s does not name the UID: %v", name, text, err)
				}
				if patches++; patches <= tc.ignored {
					return nil
				}
				return c.Patch(ctx, o, p, opts...)
			},
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
				reads++
				return c.Get(ctx, key, o, opts...)
			},
		}).Build()
		err := controller.Delete(t.Context(), c, tc.object.DeepCopyObject().(client.Object))
		if tc.refused == "" && err != nil || tc.refused != "" && (err == nil || !strings.Contains(err.Error(), tc.refused)) {
			t.Errorf("%s: %v", name, err)
		}
		if patches != tc.patches || reads != 1+tc.patches {
			t.Errorf("%s: %d patches, %d reads", name, patches, reads)
		}
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(tc.object), tc.object); tc.gone != apierrors.IsNotFound(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDeleteSparesTheNext checks that delete does not touch an object that took the name of the
// deleted one.
func TestDeleteSparesTheNext(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := rbacv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	next := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "b", UID: "next", Finalizers: []string{"example.com/stay"}}}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(next).WithInterceptorFuncs(interceptor.Funcs{
		Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error { return nil },
	}).Build()
	if err := controller.Delete(t.Context(), c, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "b", UID: "former"}}); err != nil {
		t.Error(err)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(next), next); err != nil || len(next.Finalizers) != 1 {
		t.Errorf("the next object: %v, %v", next.Finalizers, err)
	}
}

// TestMessagesAreBounded checks that a long message is cut between two characters.
func TestMessagesAreBounded(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"short", "short"}, {"12345678", "12345678"}, {"123456789", "12345..."}, {"1234é6789", "1234..."}, {"123é56789", "123é..."},
	} {
		if got := controller.Bounded(tc.text, 8); got != tc.want {
			t.Errorf("%q: %q, want %q", tc.text, got, tc.want)
		}
	}
}
