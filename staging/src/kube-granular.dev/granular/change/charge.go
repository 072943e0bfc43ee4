// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import "kube-granular.dev/granular/schema"

// Charge returns the change that a difference at a field is charged to. It serves writes that
// reach an object in another way than by its own representation: the field behind a scale
// subresource, or metadata.managedFields edited by hand. The fields lead from the root through
// objects and, as keys, through maps. Elements of lists can't be named.
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
