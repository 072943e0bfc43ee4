// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package harness is what tests of a running server share: callers, requests, waiting,
// scripts, webhooks, and what is read back of metrics and audit logs.
//
// The model: package cluster runs the server. A Client sends requests to it, as a user whose
// credentials are there or as anybody whom that user impersonates. A Stage is a server whose
// authorization chain begins with Callers, a webhook that knows what a test says a caller
// holds from the moment the test says so, and keeps what it was asked; Stamps change or
// refuse what a caller writes, as admission webhooks do. Scripts are testscripts with
// commands that send requests and hold what is stored.
//
// The invariant: nothing here decides whether an answer is right. A test says what it
// expects; what fails here is what a test needs before it can ask.
package harness
