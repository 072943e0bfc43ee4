// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package convert converts objects to the version of a request, in which permissions are defined.
//
// The API server's handlers and storage hold objects of built-in kinds in the internal (hub)
// version, whose fields differ from those of the published schema. The function Versioned converts
// one object. The type Scratch converts both objects of a comparison into memory that an earlier
// comparison used. Custom resources are in the version of the request already, and are not
// converted.
//
// Invariant: the package never changes an object that is passed in, and no content of an object
// stays in a Scratch after the comparison. The package compares no fields and decides nothing.
package convert
