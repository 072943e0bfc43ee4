// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package explain shows the fields of a kind with the permission verbs that cover them: as
// the tree of one kind in a terminal, as data for a program, and as one page of HTML with all
// kinds of a cluster.
//
// A verb is written as a role has it, with its scope and the prefix granular:, and fields
// name the verbs of what lies above them too. So nothing shown has to be put together by
// the reader.
//
// The invariant: everything shown comes from a kinds.Field; nothing here knows a permission
// by name.
package explain
