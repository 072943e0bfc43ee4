// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"kube-granular.dev/pkg/cli/roletest/format"
)

// TestDeletionOfABusyServer checks that an error of a busy server at any step does not leave an object, and that a refusal is an
// error at once.
func TestDeletionOfABusyServer(t *testing.T) {
	namespaces := schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	for name, tc := range map[string]struct {
		err  error
		gone bool
	}{
		"a timeout":      {apierrors.NewTimeoutError("etcdserver: request timed out", 0), true},
		"too many":       {apierrors.NewTooManyRequests("busy", 0), true},
		"a conflict":     {apierrors.NewConflict(namespaces.GroupResource(), "a", errors.New("changed")), true},
		"not available":  {apierrors.NewServiceUnavailable("starting"), true},
		"a refusal":      {apierrors.NewForbidden(namespaces.GroupResource(), "a", errors.New("no")), false},
		"not understood": {errors.New("no such thing"), false},
	} {
		for _, verb := range []string{"patch", "delete", "get"} {
			o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "a"}}}
			objects := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme(), o)
			failed := 0
			objects.PrependReactor(verb, "*", func(clienttesting.Action) (bool, runtime.Object, error) {
				failed++
				return failed < 3, nil, tc.err
			})
			g := &given{server: &Server{kube: fake.NewClientset(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "a"}}), objects: objects}}
			err := g.deleteOne(t.Context(), &format.Object{Unstructured: o}, objects.Resource(namespaces))
			if (err == nil) != tc.gone {
				t.Errorf("%s at %s: error %v", name, verb, err)
			}
		}
	}
}
