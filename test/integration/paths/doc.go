// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package paths walks the API of a running server, with everything enabled that can
// be, and sends a granular caller down every path that writes.
//
// What is installed comes from discovery and, independently, from the published
// OpenAPI. The objects to write come from upstream's own test data, which upstream
// keeps complete.
//
// The invariant: a path verifies fields or refuses granular callers. One that does
// neither, or that is new and can't be tried, fails the test. The result is
// docs/generated/paths.md.
package paths
