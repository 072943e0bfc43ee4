// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package up tests `kube-granular up` as its users run it: the built binary, its
// output, its exit code and the cluster behind it. It needs bin/, so run
// `make build` before it; `make test` does.
package up
