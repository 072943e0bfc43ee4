// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldpermission

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube-granular.dev/granular/overlay"
)

// same reports whether two sets of entries have the same effect and the same messages.
func same(a, b *overlay.Entries) bool {
	return a.Source == b.Source && a.Version == b.Version && a.Enforced == b.Enforced &&
		slices.EqualFunc(a.Fields, b.Fields, func(f, g overlay.Field) bool {
			return f.Permission == g.Permission && f.Excluded == g.Excluded && slices.Equal(f.Path, g.Path) && f.Unread == g.Unread &&
				(f.Origin == nil) == (g.Origin == nil) && (f.Origin == nil || f.Origin.Enforced == g.Origin.Enforced)
		})
}

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
