// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package coverage

import (
	"math/bits"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
)

// block is the permissions of one rule, either those for resources or those for paths. They are all
// combinations of one value of each dimension.
type block struct {
	// rows are all dimensions but one, and columns is the dimension with the most values.
	rows    []*dimension
	columns *dimension
	// left has one bit for each permission. The permissions of one combination of the values of rows
	// have a row of words, in which the bits are numbered as the values of columns.
	left  []uint64
	count int
	// granted is the number of the last call of Set.Grant that the block was part of.
	granted int
}

func newBlock(rule *rbacv1.PolicyRule, kinds ...kind) *block {
	all := make([]*dimension, len(kinds))
	for i, k := range kinds {
		all[i] = newDimension(k, rule)
	}
	slices.SortStableFunc(all, func(a, b *dimension) int { return len(a.values) - len(b.values) })
	b := &block{rows: all[: len(all)-1 : len(all)-1], columns: all[len(all)-1]}
	rows := 1
	for _, d := range b.rows {
		rows *= len(d.values)
	}
	full := b.columns.all()
	for range rows {
		b.left = append(b.left, full...)
	}
	b.count = rows * len(b.columns.values)
	return b
}

// grant removes the permissions that a rule grants, and returns how much work that was.
func (b *block) grant(rule *rbacv1.PolicyRule) (work int) {
	work = 1
	if b.count == 0 {
		return work
	}
	granted := make([][]int, len(b.rows))
	for i, d := range b.rows {
		found, cost := d.match(rule)
		if work += cost; isZero(found) {
			return work
		}
		granted[i] = ones(found)
	}
	columns, cost := b.columns.match(rule)
	if work += cost; isZero(columns) {
		return work
	}
	return work + b.clear(granted, columns, 0, 0)
}

// clear removes the permissions whose values are in granted and columns. row is the number of the
// row that the values of the first dimensions lead to.
func (b *block) clear(granted [][]int, columns []uint64, dimension, row int) (work int) {
	if dimension == len(b.rows) {
		words := b.left[row*len(columns):][:len(columns)]
		for i, mask := range columns {
			b.count -= bits.OnesCount64(words[i] & mask)
			words[i] &^= mask
		}
		return len(columns)
	}
	for _, i := range granted[dimension] {
		work += b.clear(granted, columns, dimension+1, row*len(b.rows[dimension].values)+i)
	}
	return work
}

// remove removes the permissions of a clone of the block.
func (b *block) remove(other *block) {
	b.count = 0
	for i := range b.left {
		b.left[i] &^= other.left[i]
		b.count += bits.OnesCount64(b.left[i])
	}
}

// isWhole reports whether all permissions of the rule are left.
func (b *block) isWhole() bool {
	total := len(b.columns.values)
	for _, d := range b.rows {
		total *= len(d.values)
	}
	return b.count == total
}

// split returns rules with the first n permissions that are left. Each has the values of one row.
func (b *block) split(n int) (out []rbacv1.PolicyRule) {
	width := len(b.columns.all())
	for row := 0; row*width < len(b.left) && n > 0; row++ {
		words := b.left[row*width:][:width]
		if isZero(words) {
			continue
		}
		var rule rbacv1.PolicyRule
		columns := ones(words)
		columns = columns[:min(n, len(columns))]
		n -= len(columns)
		b.columns.write(&rule, columns)
		rest := row
		for i := len(b.rows) - 1; i >= 0; i-- {
			d := b.rows[i]
			d.write(&rule, []int{rest % len(d.values)})
			rest /= len(d.values)
		}
		out = append(out, rule)
	}
	return out
}

// whole returns a rule with all permissions of the block. No value occurs twice in its lists.
func (b *block) whole() (rule rbacv1.PolicyRule) {
	for _, d := range append(b.rows, b.columns) {
		d.write(&rule, ones(d.all()))
	}
	return rule
}

func isZero(words []uint64) bool {
	return !slices.ContainsFunc(words, func(word uint64) bool { return word != 0 })
}

// ones returns the numbers of the bits that are set.
func ones(words []uint64) (out []int) {
	for i, word := range words {
		for ; word != 0; word &= word - 1 {
			out = append(out, i*64+bits.TrailingZeros64(word))
		}
	}
	return out
}
