// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package export

import (
	"cmp"
	"fmt"

	kubeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/granular/overlay"
	"kube-granular.dev/granular/permission"
	"kube-granular.dev/granular/protect"
	"kube-granular.dev/pkg/cli/manifest"
	"kube-granular.dev/pkg/cli/protected"
	"kube-granular.dev/pkg/fieldpermission/entry"
)

// addAuthority adds a protected attribute or a FieldPermission.
func (r *Roles) addAuthority(found *manifest.Object) error {
	switch found.Kind {
	case "ProtectedAttribute":
		a := &v1alpha1.ProtectedAttribute{}
		if err := found.Decode(a); err != nil {
			return err
		}
		r.attributes = append(r.attributes, protected.Entry(a.Name, cmp.Or(a.Namespace, r.namespace), &a.Spec))
	case "ClusterProtectedAttribute":
		a := &v1alpha1.ClusterProtectedAttribute{}
		if err := found.Decode(a); err != nil {
			return err
		}
		r.attributes = append(r.attributes, protected.Entry(a.Name, a.Namespace, &a.Spec))
	case "FieldPermission":
		p := &v1alpha1.FieldPermission{}
		if err := found.Decode(p); err != nil {
			return err
		}
		parsed, errs := entry.Parse(p)
		if len(errs) > 0 {
			return fmt.Errorf("%s: FieldPermission %s: %w", found.File, p.Name, errs.ToAggregate())
		}
		r.entries = append(r.entries, parsed)
	default:
		return fmt.Errorf("%s: %s %s: a policy can't hold it", found.File, found.Kind, found.Name)
	}
	return nil
}

// protects reports whether a protected attribute names a role. Such a role need not exist.
func (r *Roles) protects(role roleKey) bool {
	for _, e := range r.attributes {
		if e.Role.Name == role.name && (e.Role.Kind == protect.ClusterRole) == (role.namespace == "") {
			return true
		}
	}
	return false
}

// asked returns the permissions for which policies ask an authorizer.
func (r *Roles) asked() map[string]bool {
	out := map[string]bool{}
	for _, e := range r.attributes {
		if e.Role == (protect.RoleRef{}) {
			out[permission.ProtectedLabel], out[permission.ProtectedAnnotation] = true, true
		}
	}
	for _, entries := range r.entries {
		if entries.Enforced {
			for _, f := range entries.Fields {
				out[f.Permission], out[overlay.TemplatePermission(f.Permission)] = true, true
			}
		}
	}
	return out
}

// Entries returns the FieldPermissions of the files, by resource.
func (r *Roles) Entries() map[kubeschema.GroupResource]*overlay.Entries {
	out := map[kubeschema.GroupResource]*overlay.Entries{}
	for _, entries := range r.entries {
		out[kubeschema.ParseGroupResource(entries.Source)] = entries
	}
	return out
}
