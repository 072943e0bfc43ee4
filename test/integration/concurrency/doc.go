// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package concurrency lets hundreds of clients with mixed grants write to the same
// objects at once, while roles and a custom resource's schema change underneath, and
// then has a checker of its own judge what happened.
//
// Every request writes values that hold its number. The checker knows the grants, the
// answers, the history of every object as a watch told it, and the audit log; it
// shares no code with the server.
//
// The invariant: each step of an object's history is the work of one request that was
// answered with success, and changed nothing but what its user holds.
package concurrency
