// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package crd validates the permission extensions (x-kubernetes-permission-...) in the schemas of
// custom resource definitions when the definitions are written.
//
// It converts the schema of each version to the models (OpenAPI schemas) with which the server
// will serve the version, and compiles their permission tree: the tree of fields, with the
// permission that each needs. Each problem of the compiler is an error at its field. Other errors
// are extensions in schemas that the server replaces by its own, and differences between
// versions. A definition that was stored with a mistake may still be changed elsewhere, because
// only new mistakes are errors.
//
// Invariant: an accepted definition compiles, and excludes the same permissions in all versions.
//
// The package enforces nothing. A definition that is stored with a mistake is served, and package
// gate fails closed for its kind.
package crd
