// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package markers writes permission markers into Go sources. Permission markers are the comments of
// KEP-3617 that declare the permissions of types and fields.
//
// A file of markers is YAML. It names packages, types and fields, and lists the permissions of each
// of them. The package finds the position for a comment in the syntax of the source, so it does not
// depend on the text around it. Invariant: the package adds whole lines of comments, and replaces
// the types of fields for which the file of markers has a retype; every other byte of a source
// stays the same. It must not read or write files: callers pass sources in and out.
package markers
