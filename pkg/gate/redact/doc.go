// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package redact removes from the response to a write what the caller must not see. It is for
// callers that are allowed to write single fields of an object, but not to get the object. What
// remains of each part of a response:
//
//	object      Identity: name, namespace, uid, resourceVersion
//	error       Status: the code, the API's own words, fields that every object of the kind has
//	warnings    Warnings: all or none, when it is known whether the caller may get the object
//	key         Body: shown only if it is in the caller's own patch
//
// The package also shortens names and values that a caller chose, in a refusal, the log and an
// audit annotation (Limits, Head).
//
// Invariant: a redacted result depends on nothing in the object but name, namespace, uid and
// resourceVersion. The package does not ask whether the caller is allowed to get the object;
// package gate does.
package redact
