// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package golang runs the go command.
//
// The go command uses no workspace unless the caller names one, because the tool must work before
// the project's workspace exists. The package must not change go.mod or go.sum: it runs the download
// of modules in an empty folder, and package source compares their sums.
package golang
