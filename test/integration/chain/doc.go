// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package chain sends granular requests to a server with structured authorization
// configurations (KEP-3221): webhooks that deny, allow, filter and fail, before and after Node
// and RBAC.
//
// All tests share one server. Each test writes its own configuration, waits until the server
// has loaded it, and restores the chain of Node and RBAC at the end. The webhooks are those of
// cmd/example-webhook. They run in this process and record what they are asked.
// The invariant: what a webhook denies for the verb of a request is refused, whatever the
// caller holds of single fields, and for each refusal a twin whom nothing denies is let
// through.
package chain
