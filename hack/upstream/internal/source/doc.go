// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package source gives the pristine upstream files.
//
// go.mod pins the versions and go.sum their sums; the files come from the module
// cache. Kubernetes' own go.mod says which modules are its staging modules and
// which versions of its generators it uses. Invariant: what Index returns hashed,
// file by file, to the sum in go.sum. It may not write outside the module cache.
package source
