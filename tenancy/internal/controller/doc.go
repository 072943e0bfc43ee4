// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controller creates for each LNamespace a namespace and the permissions of its members.
//
// Sudo lets some members of a tenant, the sudoers, act with the permissions of the tenant's sudoer
// group. There are two modes. In the mode Impersonation, sudoers impersonate the group. In the
// mode Delegation, the permissions of the group are delegated to each sudoer by an
// AuthorityDelegation, and there are no objects for impersonation.
//
// There are three reconcilers. Tenants creates, repairs and deletes the objects of each tenant,
// which package grants computes. Sudo keeps the rules of the sudoer groups up to date with discovery.
// A third one deletes roles of an earlier version, by which sudoers impersonated themselves.
//
// Invariants: permissions are granted only in the namespace whose UID is in the status of the
// LNamespace; the controller created that namespace, or an administrator handed it over. If a
// member is removed from a list, the controller itself removes the member's permissions, and does
// not rely on the garbage collector. Objects that differ from the computed objects are repaired.
package controller
