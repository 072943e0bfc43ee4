// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package integration tests the patched server with real etcd and real kubectl, as users see
// them.
//
// Most tests are scripts in testdata/script. Each runs in a namespace of its own with the
// objects of testdata/fixtures, and runs kubectl with `as USER`. The commands `snapshot` and
// `unchanged` prove that a refused request stored nothing. Each attempt to get around the
// server has a comment that describes it. These comments become the rows of
// docs/generated/attacks.md, in the format of hack/docs/attacks.
//
// Other tests are in Go and use a server whose authorization chain begins with a webhook. The
// webhook knows each caller's verbs, as a test sets them, and records what the server asks.
// These tests send the corpus in each way in which a change can be sent, and try bodies,
// versions, subresources, retries and webhooks.
//
// Package harness holds what the tests share, and package cluster runs the servers. The name of
// a test file says what its tests are about.
//
// The invariant: for every allowed request there is a twin that differs in one respect and is
// refused.
package integration
