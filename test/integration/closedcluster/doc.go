// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package closedcluster tests that a cluster goes on when FieldPermissions close every field that can be closed.
//
//	FieldPermissions of all built-in kinds ──► the server ◄── controller manager, scheduler, a kubelet
//	                                              │
//	                                              └──► audit log: nobody of the system is refused
//
// The controller manager and the scheduler are upstream's programs, with all controllers, each under its own
// account. The kubelet is a stand-in that says what a kubelet says of nodes and pods, with a node's credential.
// What is closed comes from the function by which the server accepts exclusions, not from a list.
//
// The invariant: for each account that writes a closed field, the same write is refused when the bootstrap
// binding of the verb bypass is empty.
package closedcluster
