// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package webhook implements the admission webhooks of the controller.
//
// Default sets the account that pays for a new LNamespace: if the LNamespace has no account, it
// gets the account of its creator. Lists validates LNamespaces: a user who changes a list of
// members needs the verb of this list. In clusters that support admission policies, a policy
// checks this verb too. Requests validates certificate signing requests: a certificate must not be
// for a user or group whose name is reserved for impersonation.
//
// Invariant: the webhooks refuse a request if they can't decode its object, or can't find out from
// the API server whether the user has a permission that the request needs.
package webhook
