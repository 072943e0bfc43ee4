// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package redact says what an answer may show of an object to a caller who may not get it.
//
//	object      Identity: name, namespace, uid, resourceVersion
//	error       Status: its code, the API's own words, fields that every object of the kind has
//	warnings    Warnings: held back until it is known whether the caller may get the object
//	key         Body: shown only if it stands in the caller's own request
//
// It bounds what a refusal, a line of the log and an audit annotation repeat of what a
// caller chose, too (Limits, Head).
//
// The invariant: nothing that is returned depends on what the object holds beyond its
// identity. The package asks nobody what a caller may do; package gate does.
package redact
