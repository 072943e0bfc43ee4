// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// The command pack makes what people install the kubectl plugin from.
//
//	cmd/kubectl-granular ──► a binary for each platform ──┐
//	its commands         ──► man pages                  ──┼──► archives ──► checksums, krew manifest
//	LICENSE, completion  ─────────────────────────────────┘
//
// Krew is the package manager of kubectl plugins; its manifest says where the archive of each
// platform lies and which checksum it has. The manifest is checked by the rules that krew
// documents for manifests, since a wrong one is found out by users only.
//
// The invariant: the same tree and Go version make the same bytes. No time, user, path or order
// of a folder gets into an archive.
//
// The command uploads nothing.
package main
