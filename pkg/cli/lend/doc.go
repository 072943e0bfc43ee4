// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lend makes credentials that are a delegation: a service account that always acts under a
// delegation, and a kubeconfig with a token of it.
//
//	Terms ──► Plan: what the account will be able to do, and who else could use it
//	  │
//	  └────► Make: service account ─► delegation with its UID ─► annotation ─► token ─► kubeconfig
//	                    └──────────────── undone in reverse order if a step fails ◄──┘
//
// RBAC gives the account nothing. So the account has no permissions on a server that does not know the
// annotation, and before the annotation is written.
//
// The invariant: if Make returns an error, what it made is gone, or the error names what is left.
//
// The package decides nothing about permissions. The server does that when the delegation is created, and
// at each request of the account.
package lend
