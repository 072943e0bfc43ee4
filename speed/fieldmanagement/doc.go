// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fieldmanagement makes field management cheaper: it removes the fields that an
// update did not change from the live and the new object before upstream converts both
// to typed values and compares them.
//
//	live                      new                       compared
//	metadata {labels a: 1}    metadata {labels a: 2}    metadata.labels in both
//	spec     {…}              spec     {…}              nothing of it
//	status   {…}              status   {…}              nothing of it
//
// Invariant: managers and errors are exactly those that upstream computes from the
// whole objects. It rests on what structured-merge-diff does with an update:
// managers depend on the objects through typed.Compare alone, and Compare finds
// nothing below two fields of equal representation that are valid. So a field is
// dropped only if it is
//
//   - equal in representation, nil and empty apart, without floating-point numbers,
//     of which NaN differs from itself, and without values that write their own
//     JSON; in lists, which upstream may leave to reflect.DeepEqual, equal in
//     memory;
//   - valid against the schema, because every value of its Go type is, or, for
//     unstructured objects, because the new object was validated as a whole;
//   - not inside a struct that JSON leaves out if it is zero, because a field that is
//     absent on one side only is a difference;
//
// and nothing is dropped if a manager has another API version than the request,
// because a conversion may read any field.
//
// The part of a set of managed fields that is in dropped fields stays encoded. That is
// correct if the set is encoded exactly as upstream's encoder would encode it, which read
// checks in one pass, and if reconciliation with the schema changes nothing there
// (reconciled): an update changes a set only by paths that Compare found, and it found none
// there. If read can't confirm the encoding, upstream decodes the set. A set is also decoded
// when a caller asks for it, because the caller may change it.
//
// If only labels and annotations are left, each of the two objects is replaced by an
// unstructured one.
//
// The package changes none of its arguments. Pruned objects are copies that share the
// fields that were not dropped.
package fieldmanagement
