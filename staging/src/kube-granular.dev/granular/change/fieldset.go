// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"slices"

	"kube-granular.dev/granular/schema"
)

// fields is a set of positions among the fields of a root. Those from 63 on are in it
// or not together, as its last bit says.
type fieldSet uint64

const (
	allFields fieldSet = 1<<64 - 1
	lastBit            = 63
)

func (f fieldSet) has(i int) bool { return f&(1<<min(i, lastBit)) != 0 }

// fields says in which fields of the root, that of the tree the set was made with,
// there is a change. A change of no field may be one anywhere.
func (s Set) fields(root *schema.Node) fieldSet {
	var in fieldSet
	for i := range s {
		top := s[i].narrowest().up(1)
		if top == nil || s[i].at == nil {
			return allFields
		}
		// What is in no tree is compared as the remainder of the root, always.
		if at := slices.Index(root.Fields(), top.Node); at >= 0 {
			in |= 1 << min(at, lastBit)
		}
	}
	return in
}
