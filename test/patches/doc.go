// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package patches tests what the patches change in the upstream tree, below the
// running server: that markers arrive in the models every endpoint is built from,
// that nothing unverified reaches the storage, and that each side of the seam
// knows only what it may.
package patches
