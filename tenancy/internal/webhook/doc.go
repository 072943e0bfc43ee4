// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package webhook implements the admission webhooks of the controller.
//
// Default sets the account of a new LNamespace to that of its creator, unless it names one. Lists
// validates LNamespaces: each list needs a verb of its own, which an admission policy checks too
// in clusters that support it. Requests validates certificate signing requests: certificates must
// not have names that are reserved for impersonation.
//
// Invariant: if an object can't be decoded or a review fails, the request is refused.
package webhook
