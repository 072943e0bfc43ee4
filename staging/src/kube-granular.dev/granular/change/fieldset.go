// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"slices"

	"kube-granular.dev/granular/schema"
)

// fieldSet is a set of top-level fields. Bit i stands for field i of the tree's root, and bit 63
// for all fields from 63 on.
type fieldSet uint64

const (
	allFields fieldSet = 1<<64 - 1
	lastBit            = 63
)

func (f fieldSet) has(i int) bool { return f&(1<<min(i, lastBit)) != 0 }

// fields returns the top-level fields that contain a change of s. root is the root of the tree that
// s was computed with. If a change is at the root itself, fields returns all fields.
func (s Set) fields(root *schema.Node) fieldSet {
	var in fieldSet
	for i := range s {
		top := s[i].narrowest().up(1)
		if top == nil || s[i].at == nil {
			return allFields
		}
		// A field that is not in the tree needs no bit: the walk does not skip such fields.
		if at := slices.Index(root.Fields(), top.Node); at >= 0 {
			in |= 1 << min(at, lastBit)
		}
	}
	return in
}
