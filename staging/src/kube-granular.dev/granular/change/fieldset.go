// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"slices"

	"kube-granular.dev/granular/schema"
)

// fieldSet is a set of top-level fields. Bit i stands for the field root.Fields()[i], and the last
// bit for all fields from position 63 on.
type fieldSet uint64

const (
	allFields fieldSet = 1<<64 - 1
	lastBit            = 63
)

func (f fieldSet) has(i int) bool { return f&(1<<min(i, lastBit)) != 0 }

// fields returns the top-level fields in which something changed. root is the root of the tree
// that the set was computed with. If a change is at the root itself, the difference can be in any
// field, so the result is allFields.
func (s Set) fields(root *schema.Node) fieldSet {
	var set fieldSet
	for i := range s {
		top := s[i].narrowest().up(1)
		if top == nil || s[i].at == nil {
			return allFields
		}
		// A field without a node has no bit. Fields of the root without a node are always compared.
		if index := slices.Index(root.Fields(), top.Node); index >= 0 {
			set |= 1 << min(index, lastBit)
		}
	}
	return set
}
