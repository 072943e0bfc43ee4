// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package selection parses and formats the request header Authority-Selector, with which a caller
// restricts a request to the authority of one role or delegation.
//
//	Authority-Selector: {"authorityReference":{"kind":"ClusterRole","name":"view"}}
//
// Clients use it to make the header, which package transport sends. Servers use it to read a
// selection: kube-apiserver reads the header, and webhooks and aggregated API servers read the
// extra attribute ExtraKey of the user.
//
// The invariant: Text returns a canonical form of each value that Parse accepts, and Parse of
// that form returns the same value.
//
// The package does not know the rules of a role, or which callers may select it.
package selection
