// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package roles

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"kube-granular.dev/pkg/cli/manifest"
)

// TestDecode checks which objects of files are roles or bindings, and in which namespace.
func TestDecode(t *testing.T) {
	for text, want := range map[string]string{
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: a}}":                         "*v1.Role default/a",
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: a, namespace: shop}}":        "*v1.Role shop/a",
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: a}}":                  "*v1.RoleBinding default/a",
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: a, namespace: shop}}": "*v1.RoleBinding shop/a",
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: a}}":                  "*v1.ClusterRole /a",
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: a}}":           "*v1.ClusterRoleBinding /a",
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: Other, metadata: {name: a}}":                        "",
		"{apiVersion: rbac.authorization.k8s.io/v1beta1, kind: Role, metadata: {name: a}}":                    "",
		"{apiVersion: v1, kind: Role, metadata: {name: a}}":                                                   "",
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: a}, rule: []}":               "error",
	} {
		err := manifest.Each("f", []byte(text), func(found *manifest.Object) error {
			object, err := Decode(found, "default")
			got := ""
			switch {
			case err != nil:
				got = "error"
			case object != nil:
				accessor, _ := meta.Accessor(object)
				got = fmt.Sprintf("%T %s/%s", object, accessor.GetNamespace(), accessor.GetName())
			}
			if got != want {
				t.Errorf("%s: %s (%v), wanted %s", text, got, err, want)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
