// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rule states which writes permissions allow, as a definition: without speed, without messages
// and without the code that the server runs. Its first file is the rule on one page. Read it together
// with docs/permissions.md:
//
//   - Allowed: a permission for every place that differs.
//   - Place.Covered: which permissions cover a place, and what an excluded permission means.
//   - Place.held: which verb a permission is, with a key or a value as its parameter.
//
// The other files define which places of two objects differ: the order of lists, the presence of an
// object, elements that can't be told apart, defaults of excluded fields. They follow the decision
// records 0004, 0009, 0080 and 0091.
//
// Package worlds judges every small world with this package and with the packages change and decide,
// and compares the answers. Package kube-granular.dev/test/versions judges worlds of several versions of a
// definition with this package and with package gate.
//
// Invariant: the package imports nothing of this project, so it can't repeat a fault of the code that
// it judges. It leaves out what such a world does not have: expressions, images, the limit of verbs in a
// request, and the fields that the server itself writes. No server links it.
package rule
