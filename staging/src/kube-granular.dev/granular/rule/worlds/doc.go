// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package worlds enumerates every small world: schemas, objects, writes and callers. Its tests compare the
// library with the rule in each of them, and tests of the server use the same schemas, objects and callers.
//
// A world is a schema, a stored object, an object that a caller sends, perhaps another one that is about to
// be stored because others changed it, whether the caller holds the ordinary verb, and the caller's set of
// permission verbs. The worlds are all combinations of:
//
//   - schemas of at most three nodes: objects, maps, map lists, sets, atomic lists and scalars, at the root
//     or in the object's own metadata;
//   - on each node: no permission, one that is included or excluded, one with the key of any element around
//     it, as it is or its domain, one with its value or the value of a field inside, a general one beside
//     that one, a scope, a permission for each element, a default. Names differ, or are the same;
//   - objects of two values, two keys and all orders, with creates; and odd ones, with nulls, other shapes,
//     unknown fields and elements with one key;
//   - all callers. A caller is judged once for all verbs that nobody asks for, because they can't matter.
//
// In each world the answer of the packages schema, change and decide must be that of package rule. The same
// must hold without each way in which they save work: objects that share memory, an answer from the observed
// changes alone, a comparison of only the fields in which a change was observed, one of only excluded
// fields, and nodes that trees share. It must also hold for objects of Go types, where these can represent them.
//
// If others change the object, the answer must be the same unless a field differs as a whole. Then the
// library may refuse more, and may never allow what the rule refuses.
//
// The library compares in one version at a time. Which versions are compared, and what each shows of the stored
// object, is decided by package kube-granular.dev/pkg/gate. Package kube-granular.dev/test/versions judges worlds
// of several versions with it.
//
// A run counts worlds and classes. A class is one judged caller: all callers that agree in the verbs that were
// asked for in this write. A world is a write with one set of the verbs that were asked for in any write of the
// schema, so each write is 2^n worlds. See Caller.Worlds for why that is a lower bound.
//
// A run judges a sample of each schema's writes. The flag -share says which part: -share=1 judges all. It ends
// after some differences, which are in the smallest schemas.
//
// Invariant: the worlds are enumerated in a fixed order, without chance, so a difference can be repeated. The
// package takes from package schema only the names of extensions. No server links it.
package worlds
