// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pruned sends the same writes to a server with PrunedFieldManagement and to
// one without, and holds that nobody can tell them apart by the fields they manage.
//
// The invariant: after every request both have answered with the same code and the
// same entries of managedFields, byte for byte, but for the time of an entry. Entries
// are compared in an order that no clock decides, because the servers' own is by time.
package pruned
