// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package authority has the internal version of the types of authority.kube-granular.dev, and
// registers it in a scheme.
//
// The types are those of v1alpha1 under other names. If both versions had the same Go type, the
// server would also publish it as a kind of the version __internal.
//
// The invariant: a conversion loses nothing, and copies only the top level.
package authority
