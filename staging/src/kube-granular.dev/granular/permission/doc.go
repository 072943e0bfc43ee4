// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package permission is the grammar of permission verbs: what an authorizer is
// asked, and what an administrator writes into a role.
//
//	granular                            Verb{}                       may be considered at all
//	granular:labels                     Verb{Permission: "labels"}
//	granular:label(example.com)         ... Parameter: "example.com", Parameterized: true
//	granular:example.com/nodePool       a third party's permission
//
// A parameter may be any byte string, because keys are charged before they are
// validated. Characters that could confuse a reader or a pattern are percent-escaped,
// and a verb has exactly one spelling. A parameter has at most MaxParameterLength
// bytes after escaping, so a verb is short, whatever a caller sends.
//
// Invariant: Parse(v.String()) returns v, and String returns what Parse accepted.
// Two different permissions never share a spelling.
//
// The package knows no schema and no object, and calls no authorizer.
package permission
