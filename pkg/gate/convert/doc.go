// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package convert brings objects into the version of a request, in which permissions are
// written.
//
// Handlers and storage hold built-in objects in the hub version, which lays fields out in
// another way than the schema that people see. Versioned converts one; a Scratch converts
// both objects of a comparison into memory that the comparison before has used. Custom
// resources are held in the version of the request, and stay as they are.
//
// The invariant: an object that is passed in is never changed, and nothing of a Scratch is
// seen by the next comparison. The package looks at no field and decides nothing.
package convert
