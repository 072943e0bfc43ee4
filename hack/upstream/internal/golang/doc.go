// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package golang runs the go command.
//
// Every run is outside the project's own workspace unless a workspace is named,
// because the tool must work before one exists. It may not change go.mod or
// go.sum: modules are downloaded from an empty folder, and their sums are
// compared by package source.
package golang
