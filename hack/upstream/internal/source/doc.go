// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package source reads the pristine upstream files.
//
// Pristine files are the files of the upstream modules without patches. go.mod pins the versions of
// the modules, and go.sum has their sums. The files come from the module cache. Kubernetes' own
// go.mod lists its staging modules and the versions of its generators.
//
// Invariant: Index returns only files of modules whose content matches the sum in go.sum. The
// package writes only to the module cache. The one exception is FetchAll, which writes an empty
// module for each module that it can't download.
package source
