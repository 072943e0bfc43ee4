// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package source reads the pristine upstream files.
//
// go.mod pins the versions and go.sum their sums. The files come from the module cache.
// Kubernetes' own go.mod lists its staging modules and the versions of its generators.
// Invariant: Index returns only files whose hashes match the sum of their module in
// go.sum. The package may not write outside the module cache.
package source
