// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package store stores billing periods, in which one account pays for a tenant, in a table of a SQL
// database.
package store
