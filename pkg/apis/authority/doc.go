// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package authority has the types of authority.kube-granular.dev as the server keeps them in
// memory, and registers them in a scheme.
//
// They are the types of v1alpha1 under names of their own. One Go type for both would do for
// a scheme, and would be published as a kind of the version __internal too.
//
// The invariant: a conversion copies no memory below the top level and loses nothing.
package authority
