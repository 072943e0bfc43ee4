// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package roletest runs tests of roles: kube-granular test.
//
//	files ──► format ──► a throwaway server, given by the caller ──► judge ──► output
//
// The invariant: the tests pass only if every case passed, and, if asked for, no case can do without a
// part of a role.
//
// The package starts no server by itself, and never reads a kubeconfig.
package roletest
