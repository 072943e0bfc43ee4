// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package matrix shows which subjects may change which fields, by RBAC's roles.
//
//	roles and bindings ──► rules of each subject    ──┐
//	permission trees   ──► permissions of each kind ─┴──► a cell for each permission and subject
//
// A cell is "yes", "some" or "no". "some" means that the subject has the permission only for
// certain object names, for certain labels, conditions or other parameters, or, in a matrix for all
// namespaces, only in some namespaces.
//
// The invariant: a cell is "yes" only if the roles allow the change in all objects. Other
// authorizers, such as webhooks, are ignored, and so are protected labels and annotations.
//
// The package sends no requests.
package matrix
