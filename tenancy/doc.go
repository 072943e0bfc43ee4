// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tenancy is the root of a module that manages the tenants of a cluster.
//
// An LNamespace names the people of a namespace: users, managers and sudoers. The
// controller makes the namespace and the RBAC objects that give these people their
// rights. The module works on any Kubernetes cluster and imports nothing else of the
// project but the types of module api; the API server never links it.
package tenancy
