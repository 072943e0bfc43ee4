// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controller creates for each LNamespace a namespace and the permissions of its members.
//
// There are three reconcilers. Tenants reconciles tenants; package grants computes their objects.
// SelfRoles reconciles the roles by which users impersonate themselves, which tenants share; such
// a role exists if and only if an LNamespace names the user. Sudo keeps the rules of sudo up to
// date with discovery. If sudo is delegation, tenants have an AuthorityDelegation for each
// sudoer, and nobody impersonates.
//
// Invariants: permissions are granted only in a namespace whose UID the status records; that
// namespace was created by the controller or adopted by an administrator. The permissions of a
// subject that is removed from a list are removed by the controller, and not by the garbage
// collector. Objects that differ from the computed ones are repaired.
package controller
