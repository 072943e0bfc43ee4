// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package names has the names of the objects, labels and permissions of the tenancy controller.
//
// Invariant: two cluster-scoped objects for different tenants never have the same name, and
// neither do the roles of two sudoers, or the users that two sudoers impersonate.
package names
