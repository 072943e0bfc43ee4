// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package webhook holds what the API server asks the controller about a request.
//
// Default completes a new LNamespace: who made it pays, unless it says otherwise. Lists
// validates one: each list takes a verb of its own, as an admission policy in the API server
// asks as well where there are such policies. Requests validates certificate signing requests:
// nobody gets a certificate with a name that exists by impersonation alone.
//
// Invariant: what can't be read, or asked for, is refused.
package webhook
