// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package change computes which permission nodes differ between two objects.
//
//	tree                      old            new            charged
//	metadata                                                -
//	├─ labels                 a: 1           a: 1, b: 2     -
//	│  └─ * label(key)                                      label(b) at .metadata.labels[b]
//	spec  specification       paused: false  paused: true   specification at .spec
//	└─ replicas               3              3              -
//
// A difference is charged to the deepest node at or above it that carries a permission. A node
// is charged once for each location it has in the object, and only for its remainder: the fields
// that lead to no deeper permission. If no permission covers a difference, the change names the
// top-level field that contains it, and its chain of permissions is empty.
//
// A permission may make its parameter from the value of its field. A change then has the old and
// the new value. Elements of an atomic list with such a permission are found in both lists, and
// are charged one by one.
//
// Values are compared strictly, by representation: 1G is not 1e9. Representations that storage
// does not keep apart, such as a nil and an empty map of a Go type, are equal. Elements of
// list-maps are found by their keys, and elements of sets by their value. A new order of such a
// list is no change if each element carries its own permission. It is a change of the list if
// one permission covers all elements.
//
// Attributes answers a different question: which labels and annotations differ. Their keys may
// be protected, whatever permissions the caller holds. It returns the values of both objects,
// for the object's own metadata and for every template that the tree knows.
//
// One walk compares Go types and unstructured objects, through a view of either. Go types are
// compiled to plans first. The package starts no goroutine, keeps no object and calls no
// authorizer.
//
// A message names the location of a change. A Sender may not see the objects, so a message to it
// names only the part of the location that it knows. The name is bounded in length, and is never
// cut inside an escape.
//
// Invariant: every difference between two objects is charged, and the same two objects always
// yield the same Set. If parts of an object can't be told apart, such as two elements with one
// key, the change is Ambiguous and stands for everything that may be below it.
package change
