// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package naming decides whether somebody may create an LNamespace of a name.
//
// A name can be dangerous for others: cluster DNS looks for a name such as github.com in the
// namespace com first, add-ons expect their namespace to be theirs, and a service account of a
// namespace that does not exist can have permissions already. Rules has the names that are refused.
// Survey finds the permissions that wait for a namespace. One reading of the server serves all tenants
// that exist when it begins, because it costs as much as the cluster is large.
//
// Invariant: the package is asked about new tenants only. A tenant that has its namespace keeps it.
// An administrator may use every name but the reserved ones.
package naming
