// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package chain tries granular requests behind structured authorization configurations
// (KEP-3221): webhooks that deny, allow, filter and fail, in front of Node and RBAC and after
// them.
//
// One server runs. A test writes the configuration that it is about, waits until the server
// says that it was loaded, and leaves Node and RBAC behind. The webhooks are those of
// cmd/example-webhook, in this process, which tell what they were asked.
//
// The invariant: what a webhook denies for the verb of a request is refused, whatever the
// caller holds of single fields, and for each refusal a twin whom nothing denies is let
// through.
package chain
