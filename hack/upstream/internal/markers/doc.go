// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package markers writes permission markers, the comments of KEP-3617, into Go sources.
//
// A file of markers names packages, types and fields, and lists the permissions that cover
// each of them. The package finds the place of a comment in the syntax of the source, so it
// does not depend on the text around it. Invariant: the package writes whole lines of
// comments, and replaces the types of fields that a file of markers retypes; every other
// byte of a source stays the same. It may not read or write files: callers pass sources in
// and out.
package markers
