// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package up tests `kube-granular up` as users run it: the built binary, its output, its exit
// code, and the cluster that it starts. The tests need bin/, so run `make build` before; `make
// test` does so.
package up
