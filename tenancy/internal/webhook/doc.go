// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package webhook implements the admission webhooks of the controller.
//
// Default sets the account of a new LNamespace to the account of its creator, unless the LNamespace
// names an account. Lists validates LNamespaces: the change of a list needs the verb of this list,
// which an admission policy checks too in clusters that support such policies. Requests validates
// certificate signing requests: certificates must not have names that are reserved for
// impersonation.
//
// Invariant: if an object can't be decoded or an access review fails, the request is refused.
package webhook
