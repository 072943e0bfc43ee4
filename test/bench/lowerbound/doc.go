// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lowerbound compares objects of a few kinds by code made for their types: field by
// field, with nothing looked up at run time. The walk is measured against it.
//
// It holds equal what the walk finds no change in, as long as nothing was reordered, and
// looks at all that the walk looks at. It does not say where a difference is, so it is no
// replacement. Package generate writes it, but for SameJSON; both are used by benchmarks and
// tests alone.
package lowerbound

//go:generate go run ./generate generated.go
