// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kube-granular.dev/pkg/cli/roles"
)

// Given returns the roles and bindings of the files as objects of a server, on which they grant what counts
// here: without bindings of other roles, with the rules of the files alone, and with a binding for each role
// that counts for everybody, to some subjects.
func (r *Roles) Given(subjects []rbacv1.Subject) []runtime.Object {
	type key struct{ kind, namespace, name string }
	own, bound := map[key]bool{}, map[key]bool{}
	for _, o := range r.objects {
		switch o := o.(type) {
		case *rbacv1.Role:
			own[key{"Role", o.Namespace, o.Name}] = true
		case *rbacv1.ClusterRole:
			own[key{"ClusterRole", "", o.Name}] = true
		}
	}
	refers := func(namespace string, ref rbacv1.RoleRef) bool {
		k := key{ref.Kind, namespace, ref.Name}
		if ref.Kind == "ClusterRole" {
			k.namespace = ""
		}
		bound[k] = own[k]
		return own[k]
	}
	var out []runtime.Object
	for _, o := range r.objects {
		switch o := o.(type) {
		case *rbacv1.RoleBinding:
			if !refers(o.Namespace, o.RoleRef) {
				continue
			}
		case *rbacv1.ClusterRoleBinding:
			if !refers("", o.RoleRef) {
				continue
			}
		}
		out = append(out, o)
	}
	for i, o := range out {
		switch o := o.(type) {
		case *rbacv1.Role:
			if !bound[key{"Role", o.Namespace, o.Name}] {
				out = append(out, roles.Binding(bindingName(o.Name), o.Namespace, "Role", o.Name, subjects))
			}
		case *rbacv1.ClusterRole:
			alone := o.DeepCopy()
			alone.AggregationRule = nil
			out[i] = alone
			if !bound[key{"ClusterRole", "", o.Name}] {
				out = append(out, roles.Binding(bindingName(o.Name), "", "ClusterRole", o.Name, subjects))
			}
		}
	}
	return out
}

// bindingName returns a name that no binding of the files has by chance.
func bindingName(role string) string { return "test-of-" + strings.TrimPrefix(role, "system:") }
