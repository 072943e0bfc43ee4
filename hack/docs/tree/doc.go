// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tree finds what a document can refer to in the repository: Go tests, scripts and
// documents. Generated files that are never committed are ignored.
package tree
