// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fieldmanagement makes field management cheaper, the code that computes managedFields: it
// removes the fields that an update did not change from the live and the new object before
// upstream converts both to typed values and compares them.
//
//	live                      new                       compared
//	metadata {labels a: 1}    metadata {labels a: 2}    metadata.labels in both
//	spec     {…}              spec     {…}              nothing of it
//	status   {…}              status   {…}              nothing of it
//
// Invariant: managedFields and errors are exactly those that upstream computes from the
// whole objects. This rests on what structured-merge-diff does with an update: the
// managedFields depend on the objects through typed.Compare alone, and Compare finds no
// difference below two valid fields of equal representation. So a field is dropped only
// if it is
//
//   - equal in representation in both objects. A nil value does not equal an empty one.
//     Floating-point numbers count as different, because NaN differs from itself, and so
//     do values that write their own JSON. Lists must be equal in memory, because
//     upstream may compare them with reflect.DeepEqual;
//   - valid against the schema: either every value of its Go type is valid, or, for
//     unstructured objects, the new object was validated as a whole;
//   - not inside a struct that JSON leaves out if it is zero, because a field that is
//     absent in only one object is a difference.
//
// No field is dropped if a manager has another API version than the request, because a
// conversion may read any field.
//
// Each manager has a set of field paths, which is stored encoded. To save time, the part of a set
// whose paths are in dropped fields is not decoded. That is correct on two conditions. The set
// must be encoded exactly as upstream's encoder would encode it; the function read checks that in
// one pass. And reconciliation of the set with the schema must change nothing in that part; the
// method reconciled checks that. Then an update changes a set only by paths that Compare has
// found, and Compare finds none in dropped fields. If read can't confirm the encoding, upstream
// decodes the set. A set is also decoded when upstream asks for the decoded set, because upstream
// may then change it.
//
// If only labels and annotations are left, each of the two objects is replaced by an unstructured
// object with only what is left. Comparing the unstructured objects is cheaper, because upstream
// visits every field of a Go struct, also the empty ones.
//
// The package changes none of its arguments. Pruned objects are copies that share the
// fields that were not dropped.
package fieldmanagement
