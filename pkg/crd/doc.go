// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package crd judges the permission extensions in the schemas of custom resource
// definitions when they are written.
//
// For each version the schema becomes the very models that the server will serve
// the version with, and their permission tree is compiled. What the compiler
// refuses is an error at the field it lies in; so is what the models don't even
// hold, because the server puts its own in place, and what two versions say
// differently. A definition that was stored with a mistake may still be changed
// elsewhere: only mistakes that are new are errors.
//
// The invariant: what is accepted compiles, and excludes the same in all versions.
//
// The package enforces nothing. A definition that is stored with a mistake is
// served, and its kind fails closed in package gate.
package crd
