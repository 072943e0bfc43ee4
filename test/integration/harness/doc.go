// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package harness holds what the tests of a running server share: callers, requests, waiting,
// scripts, webhooks, and readers of metrics and audit logs.
//
// Package cluster runs the server. A Client sends requests to the server, with the credentials
// of a user, and may impersonate another user. A Server is a server that asks a GrantWebhook
// before RBAC: a test gives verbs to a caller in the webhook, which count from the next request,
// and reads there what the server has asked. A MutatingWebhook changes or refuses what some users
// write. Scripts are testscripts with further commands, which send requests and check what is
// stored.
//
// The invariant: the package itself does not know which answers are right. It fails a test only
// if a precondition fails, or if an answer differs from what the test says that it expects.
package harness
