// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package schemas tests the JSON schemas for editors, with a validator that editors could use.
//
//	docs/schemas/*.json ──► each definition and each role of the repository: accepted
//	                    └─► cases of testdata: accepted or refused, as by the server and the linter
//
// The invariant: what the schemas refuse, the server or the linter refuses too. Tests of the packages crd and
// lint hold it for the same cases.
package schemas
