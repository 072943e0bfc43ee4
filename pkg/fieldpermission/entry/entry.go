// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package entry

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/granular/overlay"
)

// Parse returns the entries of a FieldPermission, and an error for each path that can't be parsed, whose entry is Unread.
// Storage has no such path, unless another version of the server wrote it. The same is true of a mode that is neither
// Enforce nor Audit: it counts as Enforce.
func Parse(p *v1alpha1.FieldPermission) (*overlay.Entries, field.ErrorList) {
	out := &overlay.Entries{Source: p.Name, Version: p.Spec.Version, Enforced: p.Spec.Mode != v1alpha1.ModeAudit && p.Spec.Mode != ""}
	var errs field.ErrorList
	for i, f := range p.Spec.Fields {
		path, err := overlay.ParsePath(f.Path)
		if err != nil {
			errs = append(errs, field.Invalid(field.NewPath("spec", "fields").Index(i).Child("path"), f.Path, err.Error()))
			out.Fields = append(out.Fields, overlay.Field{Unread: f.Path, Permission: f.Permission, Excluded: f.Excluded})
			continue
		}
		out.Fields = append(out.Fields, overlay.Field{Path: path, Permission: f.Permission, Excluded: f.Excluded})
	}
	return out, errs
}

// Verb returns the verb that grants the permission of an entry.
func Verb(permission string) string { return "granular:" + permission }
