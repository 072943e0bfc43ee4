// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package matrix shows who may change which fields.
//
//	roles and bindings ──► what each subject holds ──┐
//	permission trees   ──► permissions of each kind ─┴──► a cell for each permission and subject
//
// A cell is yes, some or no. Some means: only objects of certain names, only certain labels,
// conditions or other keys, or only in some namespaces where all are asked about.
//
// The invariant: a cell is yes only if the roles alone allow the change in every object. Other
// authorizers, such as webhooks, and protected labels are not asked.
//
// The package asks no server.
package matrix
