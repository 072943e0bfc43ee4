// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hidden finds custom resources that may store a field which no version shows, because
// their definition lost the field.
//
//	the schemas of a definition + metadata.managedFields of an object ──► paths of fields
//
// No request returns such a field. But the managed fields of an object name the fields that somebody
// has set. They may still name a field after the object has been rewritten without it.
//
// The invariant: a field that some version of the definition has is never reported.
//
// The package does not find fields that no managed fields name, for example in an object whose
// managed fields were reset.
package hidden
