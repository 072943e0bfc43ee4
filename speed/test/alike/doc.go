// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package alike sends the same writes to three servers: one with the feature gate
// PrunedFieldManagement, one with CompiledEquality, and one with neither. It tests that their
// responses are the same.
//
// Invariant: after every request all servers have returned the same status code, and have stored
// the same object with the same managedFields, byte for byte, except times, UIDs and resource
// versions. A server sorts the entries of managedFields by time, which differs between servers,
// so the test sorts them by their text before it compares them.
package alike
