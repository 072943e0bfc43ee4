// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package generate runs upstream's code generators for what the patches change.
//
// The generators are a table. Each says which directories are its input, which
// files it writes and how it is run, as hack/update-codegen.sh of Kubernetes does.
// Invariant: on a tree without patches every one of them writes what upstream has,
// byte for byte. It may not decide what is kept: package carry compares and records.
package generate
