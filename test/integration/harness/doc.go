// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package harness holds what the tests of a running server share: callers, requests, waiting,
// scripts, webhooks, and readers of metrics and audit logs.
//
// Package cluster runs the server. A Client sends requests to the server, with the credentials
// of a user, and may impersonate another user. A Server is a server whose authorization chain
// begins with a GrantWebhook: the webhook knows the verbs that a test gives to each caller at
// once, and records what the server asks. A MutatingWebhook changes or refuses what some users
// write. Scripts are testscripts with further commands, which send requests and check what is
// stored.
//
// The invariant: this package does not decide whether an answer is right, except where a test
// states what it expects. It fails a test only if a precondition fails.
package harness
