// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package table stores billing periods in BigQuery. In a billing period, one account pays for a
// tenant.
//
// Rows are only inserted, because BigQuery can't update recently streamed rows. An open period is
// inserted as a row without an end, and a period that has ended as a row with an end. So a period
// can have both rows. Each row has an insert ID: if the same row is sent twice in a short time,
// BigQuery can drop the second one. Duplicates that remain count once, because a query returns one
// period for each tenant and sequence number, with the earliest end.
//
// Invariant: the result of a query does not depend on how often or in which order rows were
// written.
package table
