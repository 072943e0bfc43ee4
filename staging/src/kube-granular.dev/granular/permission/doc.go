// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package permission defines the grammar of permission verbs. The API server asks an authorizer
// for such a verb, and an administrator writes it into a role.
//
//	granular                            Verb{}                       may send a granular request
//	granular:labels                     Verb{Permission: "labels"}
//	granular:label(example.com)         ... Parameter: "example.com", Parameterized: true
//	granular:example.com/nodePool       a third party's permission
//
// A parameter can be any byte string, because an authorizer is asked about keys before they are
// validated. Characters that could confuse a reader or a pattern are percent-escaped, and a verb
// has exactly one spelling. A parameter has at most MaxParameterLength bytes after escaping, so a
// verb is short, whatever a caller sends.
//
// Invariant: Parse(v.String()) returns v, and if Parse(s) returns v, v.String() returns s. Two
// different verbs never share a spelling.
//
// The package reads no schema and no object, and calls no authorizer.
package permission
