// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package grants computes the RBAC objects of a tenant.
//
// Its functions are pure: they compute objects from an LNamespace and options, with roles before
// their bindings. The names of the objects depend only on the name of the tenant, so unwanted
// objects can be deleted by name, without a search.
package grants
