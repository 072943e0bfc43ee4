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
// A parameter may be any byte string, because keys are charged before anybody
// validated them. What could confuse a reader or a pattern is percent-escaped,
// and a verb has exactly one spelling. What is longer than MaxParameterLength bytes then
// is no parameter: a verb is a few hundred bytes at most, whatever a caller sends.
//
// The invariant: Parse(v.String()) returns v, and whatever Parse accepts is
// printed as it was read. Two different permissions never share a spelling.
//
// The package knows no schema and no object, and asks nobody.
package permission
