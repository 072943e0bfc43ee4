// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package entry reads the entries of a FieldPermission: the fields of the API's kind become the values
// that package overlay adds to a schema. The server and the tools read them here, so both give a path
// the same meaning.
//
// The invariant: an entry whose path can't be parsed is reported, and never left out in silence.
//
// The package knows no server, and checks nothing but the syntax of paths.
package entry
