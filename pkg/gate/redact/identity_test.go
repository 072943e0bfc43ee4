// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// TestIdentityOf checks which fields Identity keeps of a Go type, of a custom resource, and of an
// object without metadata. The original stays unchanged.
func TestIdentityOf(t *testing.T) {
	secret := &corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{
			Name: "s", Namespace: "n", UID: "u", ResourceVersion: "7", Generation: 3, GenerateName: "s-",
			Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"a": "b"}, Finalizers: []string{"a/b"},
		},
		Data: map[string][]byte{"key": []byte("secret")}, Type: "secret",
	}
	thing := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Thing", "spec": "secret",
		"metadata": map[string]any{"name": "t", "namespace": "n", "uid": "u", "resourceVersion": "7",
			"labels": map[string]any{"a": "b"}},
	}}
	for _, test := range []struct{ of, want runtime.Object }{
		{secret, &corev1.Secret{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
			ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: "n", UID: "u", ResourceVersion: "7"},
		}},
		{thing, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "example.com/v1", "kind": "Thing",
			"metadata": map[string]any{"name": "t", "namespace": "n", "uid": "u", "resourceVersion": "7"},
		}}},
		{&metav1.Status{Message: "secret"}, &metav1.Status{Status: metav1.StatusSuccess}},
	} {
		before := test.of.DeepCopyObject()
		if diff := cmp.Diff(test.want, Identity(test.of)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(before, test.of); diff != "" {
			t.Errorf("the object changed (-before +after):\n%s", diff)
		}
	}
}
