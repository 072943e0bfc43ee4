// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package overlay adds the entries of a FieldPermission to the definitions of a kind: permissions
// that an administrator sets at run time.
//
//	definitions + Entries ──Apply──► definitions with entries ──schema──► permission tree
//
// An entry has the path of a field and the name of a permission. Apply finds the field in the
// schema, and adds to the root definition a schema that has only the fields of the paths, and the
// entries at their ends. The compiler of package schema reads both schemas together. No other
// definition changes, because other kinds and other fields refer to them too.
//
// A name is an entry whose permission is part of update. An exclusion is an entry whose permission
// is not: update alone does not suffice to change the field, nor does any permission that the schema
// declares for the field or below. Inside an exclusion, and inside a field that the author of the
// schema excludes, every entry is an exclusion.
//
// A schema can change after the entries were written. Apply then tells for each entry what became of
// it. A name whose field is gone does nothing. An exclusion whose field has another type excludes the
// nearest field around it.
//
// Entries of pods hold in pod templates too: InForce makes the entries of a kind from those of its own
// FieldPermission and those of pods. If both exclude a field, a permission of each is needed. The data of
// a ControllerRevision has templates and no schema, so its fields are found by name.
//
// Check returns why entries must be refused when they are written. It is stricter than Apply.
//
// Invariant: Apply changes no definition that it was given, and an exclusion that it reports as
// Active or Degraded is in the result. Entries never take away an exclusion of the schema. The
// package knows no server, and no object of the kind.
package overlay
