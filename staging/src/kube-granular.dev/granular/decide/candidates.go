// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"slices"

	"kube-granular.dev/granular/schema"
)

// exclusion tells which entries exclude a field: none, those of the kind, those of a kind that is
// embedded around the field, or both.
type exclusion uint8

const (
	none     exclusion = 0
	own      exclusion = 1
	embedded exclusion = 2
)

// sorts returns the sorts of entries of which each must be satisfied. If there is at most one, it is
// none, which stands for all permissions of the chain.
func (e exclusion) sorts() []exclusion {
	switch e {
	case own | embedded:
		return bothSorts[:]
	case embedded:
		return bothSorts[1:]
	}
	return oneSort[:]
}

var (
	oneSort   = [...]exclusion{own}
	bothSorts = [...]exclusion{own, embedded}
)

// isExclusion reports whether a permission is that of an entry that excludes a field.
func isExclusion(p *schema.Permission) bool { return p.Entry && p.Excluded }

func excludedBy(chain []*schema.Permission) (out exclusion) {
	for _, p := range chain {
		if isExclusion(p) {
			out |= own << sortOf(p.Embedded)
		}
	}
	return out
}

// Candidates returns the permissions of which one suffices to change a node, most general first,
// and whether one of them is excluded. The package comment says which permissions these are. If no
// permission suffices alone, because entries for two kinds exclude the field, it returns none.
func Candidates(n *schema.Node) (candidates []*schema.Permission, excluded bool) {
	chain := n.Chain()
	if excludedBy(chain) != own|embedded {
		return candidatesOf(chain, none)
	}
	first, _ := candidatesOf(chain, own)
	second, _ := candidatesOf(chain, embedded)
	return slices.DeleteFunc(first, func(p *schema.Permission) bool {
		return !slices.ContainsFunc(second, func(o *schema.Permission) bool { return o.Name == p.Name })
	}), true
}

// candidatesOf returns the candidates of a chain that satisfy one sort of entries: an exclusion of the
// other sort is no candidate, and does not matter. none stands for both sorts.
func candidatesOf(chain []*schema.Permission, sort exclusion) (candidates []*schema.Permission, excluded bool) {
	isOther := func(p *schema.Permission) bool {
		return isExclusion(p) && sort != none && own<<sortOf(p.Embedded) != sort
	}
	deepest, byEntry := -1, false
	for i, p := range chain {
		if p.Excluded && !isOther(p) {
			deepest, byEntry = i, byEntry || p.Entry
		}
	}
	if deepest < 0 {
		return chain, false
	}
	for i, p := range chain {
		if (p.Excluded || i > deepest && !byEntry) && !isOther(p) {
			candidates = append(candidates, p)
		}
	}
	return candidates, true
}
