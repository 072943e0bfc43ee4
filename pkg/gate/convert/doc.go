// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package convert converts objects to the version of a request, in which permissions are defined.
//
// Handlers and storage hold built-in objects in the internal (hub) version, whose fields differ
// from those of the published schema. Versioned converts one object. A Scratch converts both
// objects of a comparison, and reuses the memory of an earlier comparison. Custom resources are
// held in the version of the request already, and are not converted.
//
// Invariant: the package never changes an object that is passed in, and a Scratch passes nothing
// from one comparison to the next. The package compares no fields and decides nothing.
package convert
