// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package versions compares the gate with the rule in small worlds of several versions. It has only tests.
//
// A world is a definition of a custom resource, a stored object, a write, and a caller as in package worlds of
// the library. The definition has a schema of at most three nodes in the version in which new objects are
// stored, and the version v1 differs from it:
//
//   - v1 lacks some fields, in all combinations, or none, or has one more;
//   - its permissions have the same names, or other names, or are excluded where they were included and
//     included where they were excluded;
//   - a webhook converts objects, and each version has another name for the first field; or nothing but the
//     version is converted. With a webhook there is a third version.
//
// An object is stored in the stored version or in v1, as it may be after the stored version of a definition
// changed, perhaps with a field of no version. The request is in one of these versions. It is a create, a
// PUT of an object that its version can show, or a merge patch of one field.
//
//	stored ──Codec──► shown ──request──► sent ──admission──► final ──Codec──► stored
//	  │                 └────── rule: in the version of the request ──┘          │
//	  └────────────────────── rule: in the stored versions ──────────────────────┘
//
// The pruning and the defaults are those of upstream's packages. In each world the answer of the gate, through
// the calls that the server makes, must be the one that package rule has for the versions that the records 0027
// and 0082 name: the version of the request, that in which new objects are stored, and that in which this object
// is stored; and, with a webhook, the excluded fields of all other versions. Answers that the records state
// besides are part of the reference:
//
//   - a granular write of an object with a field of no version is refused;
//   - a default that the stored version sets while the server reads an object is no change;
//   - if others change the object, and a field differs as a whole, the gate may refuse more.
//
// The tests leave out scales and statuses, values of another shape than the schema has, and versions that do
// not compile.
//
// Invariant: the worlds are enumerated in a fixed order, without chance, so a difference can be repeated.
package versions
