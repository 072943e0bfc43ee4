// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import "kube-granular.dev/granular/schema"

// Charge returns the Change that Compare would return for a difference at one field. It is for
// writes that Compare can't see: the field behind a scale subresource, or metadata.managedFields
// that the caller edited. The arguments are the path from the root: field names in objects and keys
// in maps. They can't name elements of lists.
func (w *Walker) Charge(fields ...string) Change {
	k := walk{mode: All, tree: w.Tree()}
	n := w.tree.Root
	for _, field := range fields {
		if n.Kind == schema.Map {
			n = n.Elem()
			k.push(n, "", []string{field})
			continue
		}
		child := n.Child(field)
		if child == nil {
			if n == w.tree.Root && !n.Carries() {
				k.push((*schema.Node)(nil), field, nil)
			}
			break
		}
		n = child
		k.push(n, field, nil)
	}
	k.charge(n)
	return k.out[0]
}
