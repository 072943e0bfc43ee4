// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// The command pack makes the release archives of the kubectl plugins, of kube-granular and of the controller of
// tenants.
//
//	cmd, tenancy/cmd     ──► a binary for each platform ──┐
//	commands of granular ──► man pages                  ──┼──► archives ──► checksums, krew manifests
//	LICENSE, completion  ─────────────────────────────────┘
//
// Krew is the package manager for kubectl plugins; its manifest has the URL and the checksum of
// the archive for each platform. The command checks the manifest by the documented rules of krew,
// because otherwise only users would notice a mistake in it.
//
// The invariant: builds are reproducible with the same Go version. An archive does not depend on
// time, user, path or the order of a directory.
//
// The command uploads nothing.
package main
