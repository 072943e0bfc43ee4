// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package redact removes from a response what a caller who may not get the object must not see.
//
//	object      Identity: name, namespace, uid, resourceVersion
//	error       Status: its code, the API's own words, fields that every object of the kind has
//	warnings    Warnings: held back until it is known whether the caller may get the object
//	key         Body: shown only if it stands in the caller's own request
//
// It also bounds how much of the values that a caller chose is repeated in a refusal, the log
// and an audit annotation (Limits, Head).
//
// Invariant: a result depends on nothing in the object but its identity. The package calls no
// authorizer; package gate does.
package redact
