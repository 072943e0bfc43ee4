// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package patches tests the changes in the patched upstream tree without a running server: that
// permission markers arrive in the models of every endpoint, that no unverified write reaches
// the storage, and that upstream and our packages import only what they may of each other.
package patches
