// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package names says what everything that the tenancy controller makes is called.
//
// Invariant: no two tenants, and no two users, share a name of an object, and what one
// name belongs to can be told without asking the server.
package names
