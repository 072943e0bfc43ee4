// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package concurrency lets hundreds of clients with different grants write to the same objects
// at once, while roles and the schema of a custom resource change. A checker then judges what
// happened.
//
// Every request writes values that contain its number. The checker knows the grants, the
// answers, the history of every object from a watch, and the audit log. It shares no code with
// the server.
//
// The invariant: each change in the history of an object comes from exactly one request that
// succeeded, and changed only fields that its user may change.
package concurrency
