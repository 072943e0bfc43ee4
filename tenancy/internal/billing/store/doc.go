// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package store stores periods in a table of a SQL database.
package store
