// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tenancy is the root of a module that manages the tenants of a cluster.
//
// An LNamespace names the members of a namespace: users, managers and sudoers. The controller
// creates the namespace and the RBAC objects with the permissions of the members. The module
// works on any Kubernetes cluster. Of the project it imports only the types of module api; the
// API server does not contain it.
package tenancy
