// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package versions

import (
	"slices"

	"kube-granular.dev/granular/rule"
	"kube-granular.dev/granular/rule/worlds"
)

// variant is how a version differs from the stored one.
type variant struct {
	// lacks are the numbers of the fields that the version lacks.
	lacks []int
	// more gives it a field that the stored version lacks, and swapped excludes what is included there and the
	// reverse.
	more, swapped bool
	names         worlds.Names
	// same is set if the version does not differ.
	same bool
}

// variants returns all variants of a schema.
func variants(root *worlds.Node) []variant {
	out := []variant{{same: true}, {names: worlds.Names{Suffix: "r"}}, {swapped: true}, {more: true}}
	for _, lacks := range subsets(fields(root)) {
		out = append(out, variant{lacks: lacks}, variant{lacks: lacks, names: worlds.Names{Suffix: "r"}},
			variant{lacks: lacks, swapped: true}, variant{lacks: lacks, more: true})
	}
	return out
}

// fields returns the numbers of the fields of all objects in a schema.
func fields(n *worlds.Node) (out []int) {
	for _, kid := range n.Kids {
		if n.Kind == rule.Object {
			out = append(out, kid.Number)
		}
		out = append(out, fields(kid)...)
	}
	return out
}

// subsets returns all subsets of the numbers but the empty one.
func subsets(numbers []int) (out [][]int) {
	for bits := 1; bits < 1<<len(numbers); bits++ {
		var one []int
		for i, number := range numbers {
			if bits>>i&1 == 1 {
				one = append(one, number)
			}
		}
		out = append(out, one)
	}
	return out
}

// root returns the schema of the version.
func (v variant) root(stored *worlds.Node) *worlds.Node {
	out := clone(stored, v.lacks)
	if v.swapped {
		swap(out)
	}
	if v.more {
		out.Kids = append(out.Kids, &worlds.Node{Kind: rule.Scalar, Name: "more", Number: 9, Mark: worlds.Mark{Verb: true}})
	}
	return out
}

// swap excludes the permissions of n and below that are included, and includes the others.
func swap(n *worlds.Node) {
	n.Mark.Excluded = !n.Mark.Excluded && (n.Mark.Verb || n.Mark.Scope)
	for _, kid := range n.Kids {
		swap(kid)
	}
}

// clone returns a copy of a schema without the fields of some numbers.
func clone(n *worlds.Node, lacks []int) *worlds.Node {
	out := *n
	out.Kids = nil
	for _, kid := range n.Kids {
		if !slices.Contains(lacks, kid.Number) {
			out.Kids = append(out.Kids, clone(kid, lacks))
		}
	}
	return &out
}
