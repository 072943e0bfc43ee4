// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tree reads the parts of the repository that a document may name: Go tests, scripts and
// documents. Generated files that are never committed are ignored.
package tree
