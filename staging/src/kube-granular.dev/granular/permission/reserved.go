// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package permission

// ProtectedLabel and ProtectedAnnotation are the permissions to set, change and remove protected
// labels and annotations. The parameter of both permissions is the full key of the label or
// annotation.
//
// Exclusion is the permission to weaken what a CRD excludes. It has no parameter.
//
// Schemas must not use these names. If the author of a CRD could use them, a grant for protected
// labels could also cover a field of that CRD.
const (
	ProtectedLabel      = "protectedLabel"
	ProtectedAnnotation = "protectedAnnotation"
	Exclusion           = "permissionExclusion"
)

// Reserved reports whether schemas must not use the given name of a permission. The name includes
// the scope.
func Reserved(name string) bool {
	return name == ProtectedLabel || name == ProtectedAnnotation || name == Exclusion
}
