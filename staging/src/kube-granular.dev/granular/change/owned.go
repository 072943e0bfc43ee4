// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"encoding/json"
	"slices"

	"kube-granular.dev/granular/schema"
)

// compareOwned compares an atomic list whose elements carry a permission with a parameter made
// from their value. An element that is in both lists is not a change. Of the other elements, two
// with the same parameter value are compared with each other. The remaining elements were removed
// or added. In this example a1 and a2 differ, but both have the parameter value a:
//
//	old   a1  b  c       b is in both lists; a1 and a2 are compared with each other;
//	new   b  a2  d       c was removed, d was added; a and b changed places
//
// A change of the order is charged to the list.
func compareOwned[V view[V]](w *walk, n *schema.Node, old, new V) bool {
	first, behind := 0, 0
	short := min(old.len(), new.len())
	for first < short && old.index(first).equal(new.index(first)) {
		first++
	}
	for behind < short-first && old.index(old.len()-1-behind).equal(new.index(new.len()-1-behind)) {
		behind++
	}
	field := n.Elem().TakesValue().Parameter.Field
	p := newPairs(part(old, first, old.len()-behind), part(new, first, new.len()-behind))
	p.match(encoded[V])
	p.match(func(v V) (string, bool) {
		text, found := v.valueText(field)
		return text, found == hasText
	})
	changed, reordered, last := false, false, -1
	one := func(a, b V) {
		if compareElem(w, n, nil, a, b) {
			changed = true
		}
	}
	for i, v := range p.before {
		if j := p.partner[i]; j >= 0 {
			reordered = reordered || j < last
			last = j
			one(v, p.after[j])
		} else {
			one(v, new.absentElem())
		}
	}
	for j, v := range p.after {
		if !p.taken[j] {
			one(new.absentElem(), v)
		}
	}
	if reordered && (w.mode == All || n.ExcludedAt) {
		w.charge(n)
		changed = true
	}
	return changed
}

// part returns the elements of a list at the indexes i with start <= i < end.
func part[V view[V]](list V, start, end int) []V {
	out := make([]V, 0, end-start)
	for i := start; i < end; i++ {
		out = append(out, list.index(i))
	}
	return out
}

// encoded returns the JSON of an element, and false if the element has none. It serves to pair
// elements. Two elements with the same JSON are still compared, because their Go values can differ.
func encoded[V view[V]](v V) (string, bool) {
	value, ok := v.decoded()
	if !ok {
		return "", false
	}
	data, err := json.Marshal(value)
	return string(data), err == nil
}

// pairs are the elements of two lists. Each element has at most one partner, in the other list.
type pairs[V any] struct {
	before, after []V
	// partner[i] is the position in after of the partner of before[i], or -1 if it has none.
	partner []int
	// taken reports, for each element of after, whether it has a partner.
	taken []bool
}

func newPairs[V any](before, after []V) *pairs[V] {
	p := &pairs[V]{before: before, after: after, partner: make([]int, len(before)), taken: make([]bool, len(after))}
	for i := range p.partner {
		p.partner[i] = -1
	}
	return p
}

// match pairs elements that have the same identity and no partner yet, in the order of the lists.
// The function identity returns false for an element that must not be paired.
func (p *pairs[V]) match(identity func(V) (string, bool)) {
	if !slices.Contains(p.partner, -1) || !slices.Contains(p.taken, false) {
		return // for elements that were only added or only removed, no identity is made
	}
	// first has the position after the first waiting element of an identity, and next that after the
	// one that follows; 0 is the end.
	first, next := make(map[string]int, len(p.after)), make([]int, len(p.after))
	for j := len(p.after) - 1; j >= 0; j-- {
		if p.taken[j] {
			continue
		}
		if id, ok := identity(p.after[j]); ok {
			next[j], first[id] = first[id], j+1
		}
	}
	for i, v := range p.before {
		if p.partner[i] >= 0 {
			continue
		}
		if id, ok := identity(v); ok && first[id] > 0 {
			j := first[id] - 1
			first[id], p.partner[i], p.taken[j] = next[j], j, true
		}
	}
}
