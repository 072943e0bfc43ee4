// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package served reads from a running server which kinds it serves in which
// versions, and compiles the permission tree of each from the schema the server
// publishes.
//
// The invariant: every kind that any resource or subresource accepts in a create,
// update or patch is there, so what is said of the kinds is said of all that can
// be written.
//
// It writes nothing to the server.
package served
