// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package selection parses and formats the request header Authority-Selector. With this header, a
// caller restricts a request to what one role or delegation allows.
//
//	Authority-Selector: {"authorityReference":{"kind":"ClusterRole","name":"view"}}
//
// Clients use this package to make the header, which package transport sends. Servers use this
// package to read a selection: kube-apiserver reads the header, and webhooks and aggregated API
// servers read the extra attribute ExtraKey of the user.
//
// The invariant: values that Parse accepts and that select the same authority have the same Text,
// and Parse of that Text selects the same authority.
//
// The package does not know the rules of a role, or which callers may select it.
package selection
