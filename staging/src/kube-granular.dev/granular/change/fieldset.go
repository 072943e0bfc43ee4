// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"slices"

	"kube-granular.dev/granular/schema"
)

// fieldSet is a set of fields of a root, by their position in Fields. The last bit stands for all
// positions from 63 on.
type fieldSet uint64

const (
	allFields fieldSet = 1<<64 - 1
	lastBit            = 63
)

func (f fieldSet) has(i int) bool { return f&(1<<min(i, lastBit)) != 0 }

// fields returns the top-level fields in which something changed. root is the root of the tree
// that the set was computed with. A change at the root itself may be in any field, so it yields
// allFields.
func (s Set) fields(root *schema.Node) fieldSet {
	var in fieldSet
	for i := range s {
		top := s[i].narrowest().up(1)
		if top == nil || s[i].at == nil {
			return allFields
		}
		// A field without a node is not in the set. It belongs to the remainder of the root, which
		// is always compared.
		if at := slices.Index(root.Fields(), top.Node); at >= 0 {
			in |= 1 << min(at, lastBit)
		}
	}
	return in
}
