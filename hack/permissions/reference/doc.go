// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reference makes the registry of permissions (the list of all permissions of built-in
// kinds, with the fields that they cover) from the kinds of a server and the vocabulary. It
// formats the registry as YAML and as Markdown.
//
// The invariant: the output is deterministic and has all permissions of the permission trees of all
// kinds. A permission that the vocabulary does not describe is an error.
//
// The package reads and writes no files.
package reference
