// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package paths walks the API of a running server, with everything enabled that can be enabled,
// and sends granular requests to every path that writes.
//
// The list of paths comes from discovery and, independently, from the published OpenAPI. The
// objects to write come from upstream's own test data, which upstream keeps complete.
//
// The invariant: a path either verifies fields or refuses granular callers. A path that does
// neither, or that is new and can't be tried, fails the test. The result is
// docs/generated/paths.md.
package paths
