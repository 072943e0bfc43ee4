// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package adopt turns existing namespaces into the namespaces of tenants.
//
//	files ──► Read ──► wishes ──┐
//	cluster ──► Load ──► state ─┴─► Make ──► plan ──► Apply (step 1) ──► Confirm (step 2)
//
// A file names namespaces, and may have the LNamespaces for them. For a namespace without an LNamespace
// in the files, the lists come from its RoleBindings. The plan says what each person would gain or lose.
// Apply creates the LNamespaces and hands the namespaces over. Confirm deletes the old RoleBindings that
// the tenant covers.
//
// Invariants: Apply takes no right away, and gives only rights that the plan lists. Confirm deletes a
// binding only if each of its subjects has all of its rights by what the controller granted already. There is no
// state beside the cluster: an interrupted run is repeated, and does what is left.
//
// The package decides nothing about the caller: the server authorizes its requests, and a policy lets
// only administrators hand over a namespace.
package adopt
