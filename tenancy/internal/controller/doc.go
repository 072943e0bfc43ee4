// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controller makes of every LNamespace a namespace and the rights of its people.
//
// There are three reconcilers. One works on tenants; what a tenant consists of is
// computed by package grants. One works on the roles by which users impersonate
// themselves, which tenants share; such a role is there if and only if an LNamespace
// names the user. One keeps the rules of sudo at what discovery lists. Where sudo is
// delegation, tenants have an AuthorityDelegation for each sudoer and nobody impersonates.
//
// Invariants: rights are granted only in a namespace whose UID the status records; the
// recorded namespace was created by the controller or adopted by an administrator. A
// name that leaves a list loses its rights by a write of the controller, never by the
// garbage collector. Whatever differs from what is computed is put right.
package controller
