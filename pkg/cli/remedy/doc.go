// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package remedy finds what would allow a refused request: the smallest role and its binding, the binding to
// a role that a protected label requires, or advice if no role helps.
//
//	denial.Denial, kinds of the server ──► Remedy ──► text, YAML, commands
//
// The invariant: a role has the one verb that was missing, or the verbs that are needed together, for the
// object of the request and no other.
//
// The package writes nothing to a cluster.
package remedy
