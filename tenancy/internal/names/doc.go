// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package names has the names of the objects, labels and permissions of the tenancy controller.
//
// Invariant: the objects of two tenants, and the roles of two users, never have the same name.
package names
