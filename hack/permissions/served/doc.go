// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package served reads the kinds and versions of a running server. From the published schema it
// compiles the permission tree of each: the fields of the kind with the permissions that cover
// them.
//
// The invariant: the result has all kinds that a resource or subresource accepts in a create,
// update or patch, so that a test of all these kinds covers all objects that can be written.
//
// The package writes nothing to the server.
package served
