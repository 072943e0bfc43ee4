// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import "kube-granular.dev/granular/schema"

// Step is one step of a concrete path.
type Step struct {
	// Node is the node the step arrives at; nil where a field of the root is in
	// no tree.
	Node *schema.Node
	// Field is the name of a field, empty for an element.
	Field string
	// Keys identify an element: the key of a Map, the values of a ListMap's keys
	// in its order, the element of a Set. Empty for an element of an atomic List,
	// which has no identity.
	Keys []string
}

// Path leads from the root to a place in an object.
type Path []Step

// Change is one permission node that changed.
type Change struct {
	// Node is the node charged: the nearest one at or above the difference that
	// carries a permission, otherwise the root.
	Node *schema.Node
	// Path is where Node lies in the object. Where no permission covers the
	// difference, it is the field of the root.
	Path Path
	// Whole says that what happened below Extent could not be told apart, so the
	// change stands for anything below it.
	Whole bool
	// Presence says that Whole is set because the container at Extent appeared or
	// vanished and nothing in it changed.
	Presence bool
	// Extent is Path, or a container below it, where Whole is set.
	Extent Path

	id string
}

// Parameter gives the raw key a permission of the change's chain is
// parameterised by, empty if it takes none.
func (c Change) Parameter(p *schema.Permission) string {
	for i := len(c.Path) - 1; i > 0; i-- {
		if c.Path[i-1].Node == p.SourceNode && p.SourceKey < len(c.Path[i].Keys) {
			return c.Path[i].Keys[p.SourceKey]
		}
	}
	return ""
}

// Set is the changes of one write, sorted by path. The nil Set is no change.
type Set []Change
