// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package redact removes from a response what its caller must not see if the caller may not get
// the object.
//
//	object      Identity: name, namespace, uid, resourceVersion
//	error       Status: its code, the API's own words, fields that every object of the kind has
//	warnings    Warnings: held back until it is known whether the caller may get the object
//	key         Body: shown only if it is in the caller's own patch
//
// It also limits how much of the names and values that a caller chose appears in a refusal, the
// log and an audit annotation (Limits, Head).
//
// Invariant: a result depends on nothing in the object but its identity. The package calls no
// authorizer; package gate does.
package redact
