// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package registry holds the permissions of the built-in kinds: what each means,
// which parameter it takes, and which fields of which kinds it covers.
//
// The data is permissions.yaml, generated from the schema of a running server; a
// test of the project compares the two. It serves tools, warnings, and the question of
// what somebody who grants a role holds already. Whether a request is allowed never
// rests on it, but on the schema that the request is served with.
//
// The invariant: a name without a domain that is not in the registry is nobody's,
// so third parties qualify theirs with a domain (KEP-3617, "Style Guide /
// Consistency Help", option B).
//
// The package holds no state but the data it parsed once, and changes none.
package registry
