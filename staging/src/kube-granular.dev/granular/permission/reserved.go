// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package permission

// The permissions to set, change and remove protected labels and annotations. Their
// parameter is the full key.
//
// They are of no schema, or the author of one could make them mean a field.
const (
	ProtectedLabel      = "protectedLabel"
	ProtectedAnnotation = "protectedAnnotation"
)

// Reserved reports whether no schema may have a permission of this name, scope included.
func Reserved(name string) bool { return name == ProtectedLabel || name == ProtectedAnnotation }
