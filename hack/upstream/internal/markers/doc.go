// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package markers writes permission markers, the comments of KEP-3617, into Go sources.
//
// A file of markers names packages, types and fields, and says of each which permissions
// cover it. Where a comment has to stand is found in the syntax of the source, so no text
// around it matters. Invariant: what is written are whole lines of comments, and the names
// of types that a file exchanges; every other byte of a source stays as it is. It may not
// read or write files; sources come and go by functions.
package markers
