// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reference makes the registry of permissions from the kinds of a server and the
// vocabulary, and formats it as YAML and as Markdown.
//
// The invariant: the output is deterministic and has all permissions of all trees. A permission
// that the vocabulary does not describe is an error.
//
// The package reads and writes no files.
package reference
