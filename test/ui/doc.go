// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ui tests the page of `kubectl granular ui` in a real Chromium.
//
// It serves the document of pkg/cli/ui/web with a sample snapshot and answers that stand in this package,
// and drives the page as a person does: by keys and clicks. One browser serves all tests. The tests of its
// safety open the page of bin/kubectl-granular instead.
//
// Invariant: a test fails if the browser reports an error of a script or a violation of the content
// security policy, whatever else it tests.
//
// Without Chromium, the tests are skipped. If CI is true and KUBE_GRANULAR_NEEDS_CHROMIUM is set, they fail.
package ui
