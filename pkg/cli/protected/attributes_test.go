// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package protected

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"kube-granular.dev/api/authority/v1alpha1"
	authorityfake "kube-granular.dev/api/client/clientset/versioned/fake"
)

// unordered compares lists without their order, because a fake server has none.
var unordered = cmp.Transformer("sort", func(in []string) []string { return slices.Sorted(slices.Values(in)) })

// TestAttributes checks that attributes of all pages count, and those of an earlier namespace do not.
func TestAttributes(t *testing.T) {
	namespaced := func(name string, uid types.UID) *v1alpha1.ProtectedAttribute {
		return &v1alpha1.ProtectedAttribute{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
			Status: v1alpha1.ProtectedAttributeStatus{NamespaceUID: uid}}
	}
	client := authorityfake.NewSimpleClientset(namespaced("now", "new"), namespaced("earlier", "old"), namespaced("unknown", ""))
	page := 0
	client.PrependReactor("list", "clusterprotectedattributes", func(clienttesting.Action) (bool, runtime.Object, error) {
		page++
		out := &v1alpha1.ClusterProtectedAttributeList{Items: []v1alpha1.ClusterProtectedAttribute{
			{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("page-", page)}}}}
		if page == 1 {
			out.Continue = "more"
		}
		return true, out, nil
	})
	shop := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", UID: "new"}}
	names := func(objects ...runtime.Object) (out []string, err error) {
		page = 0
		all, err := Attributes(t.Context(), client, fake.NewClientset(objects...), "")
		for _, a := range all {
			out = append(out, a.String())
		}
		return out, err
	}
	first := []string{"clusterprotectedattribute/page-1", "clusterprotectedattribute/page-2"}
	const now, earlier, unknown = "protectedattribute/now in namespace shop", "protectedattribute/earlier in namespace shop",
		"protectedattribute/unknown in namespace shop"
	got, err := names(shop)
	if diff := cmp.Diff(append(first, now, unknown), got, unordered); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	// Whoever may not read the namespace sees all of them.
	got, err = names()
	if diff := cmp.Diff(append(first, now, earlier, unknown), got, unordered); diff != "" || err != nil {
		t.Errorf("without the namespace: %v\n%s", err, diff)
	}
	resource := schema.GroupResource{Resource: "protectedattributes"}
	for _, tc := range []struct{ failed, want error }{
		{apierrors.NewForbidden(resource, "", errors.New("no")), nil}, {apierrors.NewNotFound(resource, ""), ErrNotServed},
	} {
		client.PrependReactor("list", "protectedattributes", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, tc.failed
		})
		got, err = names(shop)
		if diff := cmp.Diff(first, got); diff != "" || err == nil || errors.Is(err, ErrNotServed) != (tc.want != nil) {
			t.Errorf("%v: %v\n%s", tc.failed, err, diff)
		}
	}
}
