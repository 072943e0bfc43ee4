// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import "kube-granular.dev/granular/schema"

// Charge returns the change that a difference at a field is charged to. It is for differences that
// Compare does not find: in the field behind a scale subresource, or in metadata.managedFields if
// a caller edits them by hand. The fields are the path from the root: names of fields, and keys of
// maps. The path can't lead to an element of a list.
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
