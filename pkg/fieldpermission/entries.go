// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldpermission

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/granular/overlay"
)

// entriesOf returns the entries of a FieldPermission, and the paths that can't be parsed. Storage has no
// such path, unless another version of the server wrote it.
func entriesOf(p *v1alpha1.FieldPermission) (*overlay.Entries, field.ErrorList) {
	out := &overlay.Entries{Source: p.Name, Version: p.Spec.Version, Enforced: p.Spec.Mode == v1alpha1.ModeEnforce}
	var errs field.ErrorList
	for i, f := range p.Spec.Fields {
		path, err := overlay.ParsePath(f.Path)
		if err != nil {
			errs = append(errs, field.Invalid(field.NewPath("spec", "fields").Index(i).Child("path"), f.Path, err.Error()))
			continue
		}
		out.Fields = append(out.Fields, overlay.Field{Path: path, Permission: f.Permission, Excluded: f.Excluded})
	}
	return out, errs
}

// same reports whether two sets of entries have the same effect and the same messages.
func same(a, b *overlay.Entries) bool {
	return a.Source == b.Source && a.Version == b.Version && a.Enforced == b.Enforced &&
		slices.EqualFunc(a.Fields, b.Fields, func(f, g overlay.Field) bool {
			return f.Permission == g.Permission && f.Excluded == g.Excluded && slices.Equal(f.Path, g.Path)
		})
}

// verbOf returns the permission verb of an entry.
func verbOf(permission string) string { return "granular:" + permission }

func problemsOf(problems []overlay.Problem) (errs field.ErrorList) {
	for _, problem := range problems {
		path := field.NewPath("spec", "fields")
		if problem.Index >= 0 {
			path = path.Index(problem.Index).Child(string(problem.Part))
		}
		errs = append(errs, &field.Error{Type: field.ErrorTypeForbidden, Field: path.String(), Detail: problem.Message})
	}
	return errs
}

func count(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
