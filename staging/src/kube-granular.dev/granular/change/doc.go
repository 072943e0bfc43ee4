// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package change compares two objects of a kind and computes which permission nodes changed. A
// permission tree is the tree of a kind's fields, and a permission node is a node of it that
// carries a permission. The walk along the tree is called the change walk.
//
//	tree                      old            new            charged
//	metadata                                                -
//	├─ labels                 a: 1           a: 1, b: 2     -
//	│  └─ * label(key)                                      label(b) at .metadata.labels[b]
//	spec  specification       paused: false  paused: true   specification at .spec
//	└─ replicas               3              3              -
//
// The walk charges each difference to one node: the deepest node at or above the difference that
// carries a permission. To charge a node means to add a Change of this node to the result. A node
// is charged once for each location that it has in the object, and only for differences that no
// deeper permission covers. If no permission covers a difference, the Change names the top-level
// field that contains it, and its chain of permissions is empty.
//
// A permission may make its parameter from the value of its field. A Change of that field then has
// the old and the new value. If the elements of an atomic list have such a permission, the walk
// matches elements of both lists by their values, and charges each changed element by itself.
//
// Values are compared by representation: 1G is not 1e9. Representations that storage does not
// distinguish, such as a nil and an empty map of a Go type, are equal. Elements of list-maps are
// matched by their keys, and elements of sets by their value. A new order of a list-map is a change
// only if one permission covers all elements, and no change if each element carries its own.
//
// Walker.Attributes finds the labels and annotations that differ. Their keys may be protected,
// whatever permissions the caller holds. It returns the values in both objects, for the object's
// own metadata and for every template that the tree knows.
//
// The same walk compares Go types and unstructured objects, through the interface view. For each Go
// type, a plan that maps tree nodes to fields is compiled first. The package starts no goroutine,
// keeps no object and calls no authorizer.
//
// A message names the location of a change. If the caller is not allowed to see the object, a
// Sender computes how much of the location the caller knows, and the message names only that part.
// The location is bounded in length, and is never cut inside an escape.
//
// Invariant: every difference between two objects is charged, and the same two objects always
// yield the same Set. If the walk can't match parts of the two objects, for example because two
// elements have the same key, the Change is Ambiguous and stands for everything below its Extent.
package change
