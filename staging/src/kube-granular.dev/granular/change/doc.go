// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package change says which permission nodes differ between two objects.
//
//	tree                      old            new            charged
//	metadata                                                -
//	├─ labels                 a: 1           a: 1, b: 2     -
//	│  └─ * label(key)                                      label(b) at .metadata.labels[b]
//	spec  specification       paused: false  paused: true   specification at .spec
//	└─ replicas               3              3              -
//
// A difference is charged to the deepest node above it that carries a
// permission, once for each place that node has in the object. A node is charged
// for its remainder only: what leads to a deeper permission is that one's affair.
// Where no permission covers a difference, the charge names the field of the
// root it lies under and its chain is empty: nothing can cover it.
//
// Equality is that of representation and strict: 1G is not 1e9. Where the same
// thing has several representations that no storage keeps apart, such as a nil
// and an empty map of a Go type, they count as equal. Elements of list-maps and
// sets are found by key and by value, so a reorder of what has an owner each is
// no change; where the elements share an owner, their order is the owner's too.
//
// Which labels and annotations differ, whoever may change them by permission, is another
// question, because their keys may be protected: Attributes answers it with the values of
// both sides, in the object's own metadata and in every template that the tree knows.
//
// One walk serves Go types and unstructured objects, behind a view of either.
// Go types are compiled to plans first. The package starts no goroutine, keeps
// no object and asks nobody.
//
// A message names the place of a change: all of it, or to a Sender who may not see the
// objects no more than what that knows. It is short, and cut nowhere inside an escape.
//
// The invariant: every difference of two objects is charged, and twice the same
// two objects give the same Set. What can't be told apart, such as two elements
// with one key, is charged as Whole and stands for all that may be below it.
package change
