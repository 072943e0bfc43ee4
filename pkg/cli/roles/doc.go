// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package roles makes the least roles that allow given changes.
//
//	changes of requests ──► verbs, each needed ──► rules ──► a Role and a RoleBinding
//
// Which verbs suffice is tried out with the library that the server decides by: a verb is added
// for each change that would be refused, and then taken away again wherever nothing would be
// refused without it.
//
// The invariant: the verbs of Least allow all the changes, and without any one of them
// something is refused.
//
// The package asks nobody and writes nothing.
package roles
