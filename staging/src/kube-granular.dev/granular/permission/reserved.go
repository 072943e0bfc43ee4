// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package permission

// ProtectedLabel and ProtectedAnnotation are the permissions to set, change and remove protected
// labels and annotations. Their parameter is the full key.
//
// No schema may have them. Otherwise the author of a schema could use them for a field.
const (
	ProtectedLabel      = "protectedLabel"
	ProtectedAnnotation = "protectedAnnotation"
)

// Reserved reports whether a name of a permission, including its scope, is not allowed in a
// schema.
func Reserved(name string) bool { return name == ProtectedLabel || name == ProtectedAnnotation }
