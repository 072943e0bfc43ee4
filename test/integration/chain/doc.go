// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package chain sends granular requests to a server with structured authorization
// configurations (KEP-3221): webhooks that deny, allow, filter and fail, before and after Node
// and RBAC.
//
// All tests share one server. Each test writes its own configuration, waits until the server
// has loaded it, and restores the chain of Node and RBAC at the end. The webhooks are those of
// cmd/example-webhook. They run in this process and record what they are asked.
//
// The invariant: if a webhook denies the verb of a request, the request is refused, whatever
// granular verbs the caller holds. For each refusal there is a twin, a caller that no webhook
// denies and that is allowed.
package chain
