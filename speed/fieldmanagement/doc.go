// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fieldmanagement makes field management cheaper: what an update left
// alone is taken out of the live and the new object before upstream converts both
// to typed values and compares them.
//
//	live                      new                       compared
//	metadata {labels a: 1}    metadata {labels a: 2}    metadata.labels in both
//	spec     {…}              spec     {…}              nothing of it
//	status   {…}              status   {…}              nothing of it
//
// The invariant: managers and errors are the very ones upstream computes from the
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
//   - below nothing that is left out of JSON for being zero, since what is absent
//     on one side only is a difference;
//
// and nothing is dropped where a manager has another API version than the
// request: a conversion may read any field.
//
// Of a set, what lies in dropped fields is left as it is spelled. That is right if the
// set is spelled as upstream's encoder would spell it, which read proves in one pass, and
// if reconciliation finds nothing to do there (settled): an update changes a set only by
// paths that Compare found, and it found none there, above or below. A set that read
// does not prove is decoded by upstream; so is one that somebody asks for, from then on,
// since he may change it.
//
// Where labels and annotations are all that is left, an unstructured object stands for
// each of the two.
//
// The package changes no object it is given; pruned objects are copies that share
// what was not dropped.
package fieldmanagement
