// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package crd validates the permission extensions (x-kubernetes-permission-...) in the schemas of
// custom resource definitions when the definitions are written.
//
// It converts the schema of each version to the models (OpenAPI schemas) with which the server
// will serve the version, and compiles their permission tree: the tree of fields, with the
// permissions that a change of each field needs. Each problem that the compiler finds is reported
// as an error at the field with the problem. Permission extensions in schemas that the server
// replaces by its own are errors too, and so are differences between versions. If a definition was
// stored with a mistake, its other parts can still be changed, because only new mistakes are
// errors.
//
// It also compares an updated definition with the stored one, finds what the update opens (fields
// that more callers may change than before), and puts the stored extensions back. Package exclusion
// decides when.
//
// Invariant: an accepted definition compiles, and excludes the same permissions in all versions.
//
// The package enforces nothing. A definition that is stored with a mistake is served, and package
// gate fails closed for its kind.
package crd
