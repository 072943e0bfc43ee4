// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package store stores billing periods in a table of a SQL database. In a billing period, one
// account pays for a tenant.
package store
