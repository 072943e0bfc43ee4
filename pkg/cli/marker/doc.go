// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package marker writes permission extensions into definitions of custom resources, from markers in the Go
// types that controller-gen made the definitions of. controller-gen itself ignores these markers.
//
//	Go folders ──► types, fields and markers ─┐
//	definition ──► schema of each version ────┴─► a walk through both ──► lines to insert
//
// A marker above a field is for the schema of the field, and one above a type for each schema that is made of
// the type. The file stays as it is, except for the inserted lines.
//
// The invariant: each marker has its extension in the definition, and each extension its marker. Otherwise
// nothing is written, and the error names the file and the line.
//
// The package runs no other program and needs no compiled packages. It follows imports only inside the
// modules of the given folders.
package marker
