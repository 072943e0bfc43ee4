// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"fmt"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// warnWildcards calls f with a warning if the definition excludes a field: the exclusion does not bind
// whoever holds the verb *, and roles with that verb often come with the definition. It does not name
// such roles, because it has none at hand, and the author may not be allowed to read them.
func warnWildcards(crd *apiextensions.CustomResourceDefinition, versions []*crdVersion, f func(warning)) {
	if slices.ContainsFunc(versions, excludes) {
		f(warning{id: "wildcards", path: field.NewPath("spec", "versions"),
			text: fmt.Sprintf("excluded permissions are not part of update, but the verb * on %s, or on all resources, includes them; "+
				"who holds it: kubectl granular who-can '*' %s", crd.Name, crd.Name)})
	}
}

// excludes reports whether a version excludes a permission.
func excludes(version *crdVersion) (found bool) {
	visit(version.schema, version.path, func(s *apiextensions.JSONSchemaProps, _ *field.Path) bool {
		found = found || s.XPermissionExcluded
		return !found
	})
	return found
}
