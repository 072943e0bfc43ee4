// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package conformance writes the page of upstream's conformance tests: which run against a kind cluster, and why
// the others do not.
//
//	upstream's conformance.yaml ─┐
//	hack/kind/e2e expressions ───┼──► Page ──► docs/generated/conformance.md
//	images that a test names ────┘
//
// The invariant: the page has each test once, and what it says to run is what the script selects.
//
// The package runs no test. Whether a test passes is the result of make test-kind-e2e.
package conformance
