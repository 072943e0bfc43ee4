// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package export

import (
	"cmp"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeschema "k8s.io/apimachinery/pkg/runtime/schema"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/granular/overlay"
	"kube-granular.dev/granular/permission"
	"kube-granular.dev/granular/protect"
	"kube-granular.dev/pkg/cli/manifest"
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
		a.Namespace = cmp.Or(a.Namespace, r.namespace)
		r.addAttribute(&a.ObjectMeta, &a.Spec)
	case "ClusterProtectedAttribute":
		a := &v1alpha1.ClusterProtectedAttribute{}
		if err := found.Decode(a); err != nil {
			return err
		}
		r.addAttribute(&a.ObjectMeta, &a.Spec)
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

func (r *Roles) addAttribute(meta *metav1.ObjectMeta, spec *v1alpha1.ProtectedAttributeSpec) {
	e := protect.Entry{Name: meta.Name, Namespace: meta.Namespace, Kind: protect.KindOf(string(spec.AttributeKind)), Key: spec.AttributeName,
		ProtectedValues: spec.ProtectedValues, AllowedValues: spec.AllowedValues, Mode: cmp.Or(protect.Mode(spec.Mode), protect.Enforce)}
	if spec.RoleRef != nil {
		e.Role = protect.RoleRef{Kind: spec.RoleRef.Kind, Name: spec.RoleRef.Name}
	}
	for _, resource := range spec.Resources {
		e.Resources = append(e.Resources, protect.Resource(resource))
	}
	for _, resource := range spec.ExcludeResources {
		e.ExcludeResources = append(e.ExcludeResources, protect.Resource(resource))
	}
	r.attributes = append(r.attributes, e)
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
