// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package generate runs upstream's code generators for the files that the patches change.
//
// Table lists the generators. Each entry has the input directories, the output files and the
// command, as in hack/update-codegen.sh of Kubernetes. Invariant: on a tree without patches, every
// generator writes the same bytes as upstream has. The package does not decide which output is
// kept: package carry compares the output with upstream and adds it to the manifest of the tree.
package generate
