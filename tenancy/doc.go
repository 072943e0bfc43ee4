// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tenancy is the root of a module that manages the tenants of a cluster.
//
// A tenant is described by an LNamespace, a cluster-scoped object. It lists the members of a
// namespace: users, managers, and sudoers, who can act with nearly all permissions in the
// namespace through the command kubectl sudo. The tenancy controller creates the namespace and
// the RBAC objects that grant the members their permissions.
//
// The module works on any Kubernetes cluster. From the other modules of this project it imports
// only module api, and the API server does not import this module.
package tenancy
