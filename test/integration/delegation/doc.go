// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package delegation attacks delegated authority on a running server: what it gives whom,
// what ends it, and what it can't be made to give. Each refusal has its twin, which is allowed.
package delegation
