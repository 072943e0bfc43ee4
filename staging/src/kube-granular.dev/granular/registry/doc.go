// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package registry has the permissions of the built-in kinds: what each means, which parameter it
// takes, and which fields of which kinds it covers.
//
// The data is the file permissions.yaml, generated from the schema of a running server. A test of
// the project compares the file with that schema. Tools and warnings use the data. So does the
// check whether a user who grants a role already holds what the role grants. The authorization of
// requests never uses this data, but only the schema of the server.
//
// Invariant: a permission name without a domain is in the registry, or belongs to nobody, so that
// later versions can use it. Third parties qualify their names with a domain (KEP-3617, "Style
// Guide / Consistency Help", option B).
//
// The package parses its data once and never changes it.
package registry
