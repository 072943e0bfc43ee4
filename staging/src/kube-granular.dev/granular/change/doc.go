// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package change computes which nodes of a permission tree differ between two objects. The tree
// has those fields of a kind that have a permission or lead to one.
//
//	tree                      old            new            charged
//	metadata                                                -
//	├─ labels                 a: 1           a: 1, b: 2     -
//	│  └─ * label(key)                                      label(b) at .metadata.labels[b]
//	spec  specification       paused: false  paused: true   specification at .spec
//	└─ replicas               3              3              -
//
// A difference is charged to the deepest node at or above it that carries a permission, which
// means that a caller needs a permission of that node's chain. The chain has the node's own
// permissions and those above, most general first. A node is charged once for each location it has
// in the object, and only for its remainder: the fields that lead to no deeper permission. If no
// permission covers a difference, the change names the top-level field that contains it, and the
// chain is empty.
//
// A permission can make its parameter from the value of its field. A change then has the old and
// the new value. If the elements of an atomic list have such a permission, they are matched by
// value, and each is charged on its own.
//
// Values are compared strictly, by representation: 1G is not 1e9. Representations that storage
// does not keep apart, such as a nil and an empty map of a Go type, are equal. Elements of
// list-maps are matched by their keys, and elements of sets by their value. A new order of such a
// list is no change if each element carries its own permission. A new order is a change of the
// list if one permission covers all elements.
//
// Walker.Attributes returns another result: the labels and annotations that differ, with their old
// and new values. It reads the object's own metadata and every template inside the object that the
// tree knows, such as a pod template. It serves the check of protected labels and annotations,
// which need an authorization of their own.
//
// The same code compares Go types and unstructured objects. It reads both through one internal
// interface, named view. At the first use of a Go type, a plan is compiled that says which Go field
// belongs to which node. The package starts no goroutine, keeps no object and calls no authorizer.
//
// A message names the location of a change. A Sender is a caller who is not allowed to see the
// objects. A message to a Sender names only the part of the location that the Sender knows. The
// shown location is bounded in length, and is never cut inside an escape.
//
// Invariant: in mode All, every difference is charged, except in fields that the server itself
// sets. The same two objects always yield the same Set. If parts of an object can't be told apart,
// such as two elements with the same key, the change is Ambiguous and stands for every difference
// that might be below it.
package change
