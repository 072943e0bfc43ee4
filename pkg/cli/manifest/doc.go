// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package manifest splits YAML and JSON files into the objects of Kubernetes that they have.
//
//	file ──► documents ──► lists ──► objects, one at a time
//
// The invariant: each object of a file is visited, or Each returns an error.
//
// The package knows no kind of objects, and reads no files itself.
package manifest
