// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package alike sends the same writes to three servers: one with PrunedFieldManagement, one with
// CompiledEquality, and one with neither. It tests that their responses are the same.
//
// Invariant: after every request all servers have returned the same code, and have the same
// object with the same entries of managedFields, byte for byte, except times, uids and resource
// versions. Entries are sorted by something other than time before they are compared, because
// the servers sort them by time.
package alike
