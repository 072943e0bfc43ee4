// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package coverage

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// kind is a list of a rule.
type kind int

const (
	verbs kind = iota
	groups
	resources
	names
	urls
)

func (k kind) list(rule *rbacv1.PolicyRule) *[]string {
	switch k {
	case verbs:
		return &rule.Verbs
	case groups:
		return &rule.APIGroups
	case resources:
		return &rule.Resources
	case names:
		return &rule.ResourceNames
	default:
		return &rule.NonResourceURLs
	}
}

// dimension is the different values of one list of a rule.
type dimension struct {
	kind   kind
	values []string
	// number has the index of each value.
	number map[string]int
	// unnamed is true for a rule without resource names. Its only value stands for all objects.
	unnamed bool
	// bySubresource has the indexes of resources by their subresources.
	bySubresource map[string][]int
	// sorted are the indexes of paths, in the order of their values.
	sorted []int
}

func newDimension(k kind, rule *rbacv1.PolicyRule) *dimension {
	list := *k.list(rule)
	d := &dimension{kind: k, number: make(map[string]int, len(list))}
	if k == names && len(list) == 0 {
		d.unnamed, list = true, []string{""}
	}
	for _, value := range list {
		if _, known := d.number[value]; known {
			continue
		}
		i := len(d.values)
		d.number[value] = i
		d.values = append(d.values, value)
		if _, sub, found := strings.Cut(value, "/"); k == resources && found {
			if d.bySubresource == nil {
				d.bySubresource = map[string][]int{}
			}
			d.bySubresource[sub] = append(d.bySubresource[sub], i)
		}
		d.sorted = append(d.sorted, i)
	}
	if k == urls {
		slices.SortFunc(d.sorted, func(a, b int) int { return strings.Compare(d.values[a], d.values[b]) })
	}
	return d
}

// all returns the bits of all values.
func (d *dimension) all() []uint64 {
	out := make([]uint64, (len(d.values)+63)/64)
	for i := range out {
		out[i] = ^uint64(0)
	}
	if rest := len(d.values) % 64; rest != 0 {
		out[len(out)-1] = 1<<rest - 1
	}
	return out
}

// match returns the bits of the values that a rule grants, and how much work it was to find them.
func (d *dimension) match(rule *rbacv1.PolicyRule) (found []uint64, work int) {
	list := *d.kind.list(rule)
	if d.kind == names {
		if len(list) == 0 {
			return d.all(), 1
		}
		if d.unnamed {
			return nil, 1
		}
	}
	found = make([]uint64, (len(d.values)+63)/64)
	set := func(i int) { found[i/64] |= 1 << (i % 64) }
	for _, value := range list {
		work++
		if value == "*" && d.kind != names && d.kind != urls {
			return d.all(), work
		}
		if i, known := d.number[value]; known {
			set(i)
		}
		switch d.kind {
		case resources:
			if sub, all := strings.CutPrefix(value, "*/"); all {
				work += len(d.bySubresource[sub]) / 8
				for _, i := range d.bySubresource[sub] {
					set(i)
				}
			}
		case urls:
			if strings.HasSuffix(value, "*") {
				work += d.matchPrefix(strings.TrimRight(value, "*"), set)
			}
		}
	}
	return found, work
}

// matchPrefix calls set for the values that begin with a prefix.
func (d *dimension) matchPrefix(prefix string, set func(int)) (work int) {
	first, _ := slices.BinarySearchFunc(d.sorted, prefix, func(i int, prefix string) int { return strings.Compare(d.values[i], prefix) })
	for _, i := range d.sorted[first:] {
		if work++; !strings.HasPrefix(d.values[i], prefix) {
			break
		}
		set(i)
	}
	return work
}

// write sets the list of a rule to the values with the given indexes.
func (d *dimension) write(rule *rbacv1.PolicyRule, indexes []int) {
	if d.unnamed {
		return
	}
	list := make([]string, len(indexes))
	for i, index := range indexes {
		list[i] = d.values[index]
	}
	*d.kind.list(rule) = list
}
