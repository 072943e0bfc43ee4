// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package printing prints text from clusters and logs to terminals, files and pipes. All binaries of
// the project print through it.
//
//	names, keys, verbs, reasons, paths ──► escaped ──► tables, messages, comments, CSV
//	values and objects                 ──► encoded ──► JSON and YAML documents
//
// Other people choose such text: the user name in an audit log comes from an identity provider, and
// the name of a role from whoever may write roles. A line break in it would add a row to a table or
// a document to YAML. A control character would move the cursor, and a bidirectional mark would
// change the order in which characters are shown.
//
// The invariant: whatever the data contains, it is printed on the line, in the cell, the comment or
// the string that it is meant for, by printable characters only. JSON and YAML have the values
// unchanged: what is not printable is written with the escapes of the format.
//
// The package does not decide what is printed, and reads nothing.
package printing
