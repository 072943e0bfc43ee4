// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package permission is the grammar of permission verbs. kube-apiserver passes a permission
// verb to the authorizer, and an administrator writes the same verb into a role.
//
//	granular                            the general verb: the request may be judged field by field
//	granular:labels                     the permission "labels"
//	granular:label(example.com)         the permission "label" with the parameter "example.com"
//	granular:example.com/nodePool       a permission that a third party defines
//
// A parameter may be any byte string: it often comes from a map key in the request, and
// Kubernetes validates that key only later. A verb percent-escapes each byte that could
// confuse a reader or a pattern, so that each verb has exactly one spelling. A parameter has at
// most MaxParameterLength bytes after escaping. This limits the length of a verb, whatever a
// caller sends.
//
// Invariant: for each valid Verb v, Parse(v.String()) returns v. For each string s that Parse
// accepts, String of the parsed verb returns s. Two different verbs never share a spelling.
//
// The package reads no schema and no object, and calls no authorizer.
package permission
