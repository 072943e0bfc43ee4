// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package status writes the status of protected attributes.
//
// Compute computes a status from the attribute, its role and the bindings of that role. Only the
// server that holds a Lease writes what Compute returns, so that servers with different state or of
// different versions do not overwrite each other's statuses. Each server counts the requests that
// attributes with mode Audit would have refused, and adds its own counts to the statuses from time
// to time.
//
// The invariant: no decision about a write depends on a status, with one exception: the UID of the
// namespace, which is in the status but is not written by this package.
package status
