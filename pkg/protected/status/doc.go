// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package status writes what a server found out about protected attributes into their
// status.
//
// What a status says follows from what is known of the attribute, its role and the bindings:
// Of computes it. Of all servers one at a time writes it, the one that holds a lease, so that
// servers that know different things, or are of different versions, do not write against each
// other. Violations in mode Audit are counted by each server and added by each, now and then.
//
// The invariant: nothing that is decided about a write depends on a status, but for the UID of the
// namespace, which is not written here.
package status
