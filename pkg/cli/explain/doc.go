// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package explain shows the fields of a kind with the permission verbs that cover them: as
// the tree of one kind in a terminal, and as data for a program.
//
// Each verb is shown as a role grants it, with its scope and the prefix granular:, so that a reader
// can copy the verb. A field also lists the verbs of the fields above it, which cover it too.
//
// The invariant: everything shown comes from a kinds.Field. No permission is hard-coded in this
// package.
package explain
