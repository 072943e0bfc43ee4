// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package served reads the kinds and versions of a running server, and compiles the permission
// tree of each from the published schema.
//
// The invariant: the result has all kinds that a resource or subresource accepts in a create,
// update or patch, so that a property of all kinds is a property of all objects that can be
// written.
//
// It writes nothing to the server.
package served
