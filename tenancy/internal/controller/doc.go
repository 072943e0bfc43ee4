// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controller creates for each LNamespace a namespace and the permissions of its members.
//
// Sudo lets members of a tenant, its sudoers, act with the permissions of the tenant's sudoer group.
// There are two modes: they impersonate the group, or its permissions are delegated to them.
//
// There are three reconcilers. Tenants reconciles tenants; package grants computes their objects.
// SelfRoles reconciles the roles by which users impersonate themselves, which tenants share; such
// a role exists if and only if an LNamespace lists the user as a sudoer. Sudo keeps the rules of the
// sudoer groups up to date with discovery. In the mode Delegation, a tenant has an
// AuthorityDelegation for each sudoer, and there are no objects for impersonation.
//
// Invariants: permissions are granted only in the namespace whose UID is in the status; the
// controller created that namespace, or an administrator handed it over. If a subject is removed
// from a list, the controller itself removes its permissions, and does not rely on the garbage
// collector. Objects that differ from the computed ones are repaired.
package controller
