// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package registry has the permissions of the built-in kinds: what each means, which parameter it
// takes, and which fields of which kinds it covers.
//
// The data is permissions.yaml, generated from the schema of a running server; a test of the
// project compares the two. Tools and warnings use the data. So does the check whether a user who
// grants a role already holds what the role grants. Requests are never authorized by this data,
// but by the schema that they are served with.
//
// Invariant: a permission name without a domain is in the registry, or belongs to nobody, so that
// later versions may use it. Third parties qualify their names with a domain (KEP-3617, "Style Guide
// / Consistency Help", option B).
//
// The package parses its data once and never changes it.
package registry
