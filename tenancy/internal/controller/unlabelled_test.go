// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"kube-granular.dev/tenancy/internal/controller"
)

// TestWhereRemoveLooks checks in which of the caches, and on the server, an unwanted object is found, and
// how many requests that takes if there is none.
func TestWhereRemoveLooks(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := rbacv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "lnamespace:team:manager", UID: "u"},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "lnamespace:team:manager"}}
	metadata := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRoleBinding"},
		ObjectMeta: binding.ObjectMeta}
	for name, tc := range map[string]struct {
		where                      controller.Lookup
		cached, unlabelled, server bool
		gone                       bool
		reads                      int
	}{
		"nowhere, in the cache only":                     {where: controller.CacheOnly},
		"nowhere, without the label":                     {where: controller.UnlabelledCache},
		"nowhere, on the server":                         {where: controller.Server, reads: 1},
		"in the cache":                                   {where: controller.CacheOnly, cached: true, server: true, gone: true, reads: 1},
		"without the label, but nobody looks":            {where: controller.CacheOnly, unlabelled: true, server: true},
		"without the label":                              {where: controller.UnlabelledCache, unlabelled: true, server: true, gone: true, reads: 2},
		"without the label, and the cache is stale":      {where: controller.UnlabelledCache, unlabelled: true, reads: 1},
		"without the label, and the cache lacks it":      {where: controller.UnlabelledCache, server: true},
		"without the label, and the cache does not have": {where: controller.Server, server: true, gone: true, reads: 2},
	} {
		t.Run(name, func(t *testing.T) {
			with := func(has bool, objects ...client.Object) client.WithWatch {
				b := fake.NewClientBuilder().WithScheme(scheme)
				if has {
					b = b.WithObjects(objects...)
				}
				return b.Build()
			}
			reads := 0
			server := with(tc.server, binding.DeepCopy())
			live := interceptor.NewClient(server, interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
				reads++
				return c.Get(ctx, key, o, opts...)
			}})
			cached := interceptor.NewClient(server, interceptor.Funcs{Get: func(_ context.Context, _ client.WithWatch, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
				return with(tc.cached, binding.DeepCopy()).Get(t.Context(), key, o)
			}})
			unlabelled := with(tc.unlabelled, metadata.DeepCopy())
			gone, err := controller.Remove(t.Context(), cached, live, unlabelled, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: binding.Name}}, tc.where)
			if err != nil || gone != tc.gone || reads != tc.reads {
				t.Errorf("gone %t, want %t; %d reads, want %d; %v", gone, tc.gone, reads, tc.reads, err)
			}
			if err := server.Get(t.Context(), client.ObjectKeyFromObject(binding), &rbacv1.ClusterRoleBinding{}); tc.gone && !apierrors.IsNotFound(err) {
				t.Errorf("it is still there: %v", err)
			}
		})
	}
}
