// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tenancy is the root of a module that manages the tenants of a cluster.
//
// A tenant is described by an LNamespace, a cluster-scoped object. The LNamespace lists the
// members of a namespace: users, managers and sudoers. Sudoers can act with nearly all permissions
// in the namespace through the command kubectl sudo. The tenancy controller creates the namespace
// and the RBAC objects that grant the members their permissions.
//
// The module works on any Kubernetes cluster. It imports only one other module of this project,
// the module api. The project's API server does not import the module tenancy.
package tenancy
