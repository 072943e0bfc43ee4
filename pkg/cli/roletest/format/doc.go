// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package format reads files of the kind RoleTest, and the files of objects that they name.
//
//	a file ──► YAML nodes, for the lines ──┐
//	       └─► JSON values ────────────────┴──► a Test: objects, and cases with their lines
//
// A test comes with a pull request, so its files are hostile input. Only files below the folder of
// the test are read. Their size, depth and number are limited, and YAML aliases are refused, because
// a few of them can stand for a very large value.
//
// The invariant: a file with any mistake is refused as a whole, and each mistake is reported with its
// file, line and field. No message contains a field's value, except of the fields that name something.
//
// The package sends no requests.
package format
