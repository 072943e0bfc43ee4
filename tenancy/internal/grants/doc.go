// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package grants computes the RBAC objects and delegations that grant the members of a tenant
// their permissions.
//
// Its functions are pure: they compute objects from an LNamespace and options. In a list of RBAC
// objects, a role comes before its binding. The names of the RBAC objects of a tenant depend only
// on the name of the tenant and on the names of its sudoers, so unwanted objects can be deleted by
// name, without a search.
package grants
