// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package authority has the internal version of the types of authority.kube-granular.dev, and
// registers it in a scheme.
//
// Each type is a new Go type with the same fields as the type of that name in v1alpha1. If both
// versions had the same Go type, the server would also publish that type as a kind of the version
// __internal.
//
// The invariant: a conversion loses nothing but TypeMeta, and makes a shallow copy.
package authority
