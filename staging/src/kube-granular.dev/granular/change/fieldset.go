// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"slices"

	"kube-granular.dev/granular/schema"
)

// fieldSet is a set of positions among the fields of a root. The last bit stands for all
// positions from 63 on.
type fieldSet uint64

const (
	allFields fieldSet = 1<<64 - 1
	lastBit            = 63
)

func (f fieldSet) has(i int) bool { return f&(1<<min(i, lastBit)) != 0 }

// fields returns the fields of the root in which something changed. The root is that of the tree
// that the set was computed with. A change of no single field may be a change of any field.
func (s Set) fields(root *schema.Node) fieldSet {
	var in fieldSet
	for i := range s {
		top := s[i].narrowest().up(1)
		if top == nil || s[i].at == nil {
			return allFields
		}
		// A field that is in no tree is always compared, as part of the root's remainder.
		if at := slices.Index(root.Fields(), top.Node); at >= 0 {
			in |= 1 << min(at, lastBit)
		}
	}
	return in
}
