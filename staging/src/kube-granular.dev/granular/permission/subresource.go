// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package permission

// StoresFields reports whether a write through a subresource stores fields of the object that the
// request names, or of its scale. It returns true for "", the object itself. Writes through others,
// such as eviction and exec, store no field that a permission could cover.
func StoresFields(subresource string) bool {
	switch subresource {
	case "", "status", "scale", "resize", "ephemeralcontainers", "approval", "finalize":
		return true
	}
	return false
}
