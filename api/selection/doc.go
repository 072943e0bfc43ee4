// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package selection holds the value of the request header Authority-Selector, by which a
// caller acts with one role and not with all that it has.
//
//	Authority-Selector: {"authorityReference":{"kind":"ClusterRole","name":"view"}}
//
// It is for whoever sends the header, and for API servers that are told of it: what a caller
// selected is sent on to them as the extra attribute ExtraKey of the user. Package transport
// sends it.
//
// The invariant: what Parse accepts, Text prints in one way, and Parse reads that as the same.
//
// The package does not know what a role allows, and who may select it.
package selection
