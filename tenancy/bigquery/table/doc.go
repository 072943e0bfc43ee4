// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package table stores billing periods in BigQuery.
//
// Rows are only inserted, because BigQuery can't update recently streamed rows. A period has one
// row for its beginning and one for its end. Each row has an insert ID, so that the service can
// drop a row that is sent a second time soon after. Remaining duplicates count once, because a
// query returns one period for each tenant and sequence number, with the earliest end.
//
// Invariant: the result of a query does not depend on how often or in which order rows were
// written.
package table
