// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package crd validates the permission extensions in the schemas of custom resource definitions
// when they are written.
//
// The schema of each version is converted to the models that the server will serve the version
// with, and their permission tree is compiled. Each problem of the compiler is an error at its
// field. Further errors are extensions in schemas that the server replaces by its own, and
// differences between versions. A definition that was stored with a mistake may still be changed
// elsewhere: only new mistakes are errors.
//
// Invariant: an accepted definition compiles, and excludes the same permissions in all versions.
//
// The package enforces nothing. A definition that is stored with a mistake is served, and
// package gate fails closed for its kind.
package crd
