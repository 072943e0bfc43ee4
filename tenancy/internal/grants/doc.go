// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package grants computes the RBAC objects that a tenant consists of.
//
// It is pure: an LNamespace and the options go in, objects come out, in an order in
// which a role precedes its bindings. The set of names that a tenant can ever have is
// fixed, so what is not wanted can be deleted without being found first.
package grants
