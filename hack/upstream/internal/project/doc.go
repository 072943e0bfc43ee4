// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package project knows where things lie in a kube-granular checkout.
//
// It reads nothing but the go.mod files it looks for, and writes nothing; every other
// package asks it for a path instead of joining one. Invariant: a tree path, the key all
// packages here share, is slash-separated and relative to the project's root.
package project
