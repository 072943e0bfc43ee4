// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package grants computes the RBAC objects of a tenant.
//
// Its functions are pure: they compute objects from an LNamespace and options, with roles before
// their bindings. The set of names that a tenant can have is fixed, so unwanted objects can be
// deleted without a search.
package grants
