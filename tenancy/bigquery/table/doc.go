// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package table keeps periods of bills in BigQuery.
//
// Rows are only added: BigQuery does not change what was streamed to it for a while. A period
// has a row when it begins and a row when it ends, each with an insert id, by which the
// service drops a row that is sent again soon. What gets in twice all the same counts once,
// because reading takes one period for each tenant and sequence, with the first end there is.
//
// Invariant: what is read does not depend on how often a row was written, or in which order.
package table
