// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package selection parses and formats the request header Authority-Selector, with which a caller
// restricts a request to the authority of one role or delegation.
//
//	Authority-Selector: {"authorityReference":{"kind":"ClusterRole","name":"view"}}
//
// It is for clients that send the header, and for API servers that receive a selection: webhooks
// and aggregated API servers get it as the extra attribute ExtraKey of the user. Package
// transport sends the header.
//
// The invariant: Text returns a canonical form of each value that Parse accepts, and Parse of
// that form returns the same value.
//
// The package does not know the rules of a role, or who may select it.
package selection
