// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package matrix shows who may change which fields.
//
//	roles and bindings ──► rules of each subject    ──┐
//	permission trees   ──► permissions of each kind ─┴──► a cell for each permission and subject
//
// A cell is yes, some or no. Some means that the permission is limited to certain object names,
// to certain labels, conditions or other parameters, or to some namespaces if the matrix is for
// all namespaces.
//
// The invariant: a cell is yes only if the roles alone allow the change in all objects. Other
// authorizers, such as webhooks, and protected labels are not considered.
//
// The package sends no requests.
package matrix
