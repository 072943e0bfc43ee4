// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package alike sends the same writes to a server with PrunedFieldManagement, to one with
// CompiledEquality, and to one with neither, and holds that nobody can tell them apart.
//
// The invariant: after every request all have answered with the same code, and have the
// same object with the same entries of managedFields, byte for byte, but for times, uids
// and resource versions. Entries are compared in an order that no clock decides, because
// the servers' own is by time.
package alike
