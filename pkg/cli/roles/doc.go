// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package roles makes the minimal roles that allow given changes.
//
//	changes of requests ──► verbs, each needed ──► rules ──► a Role and a RoleBinding
//
// The verbs are found with the library that the server uses. A verb is added for each change that
// the server would refuse. Then each verb is removed again if the server would allow all changes
// without it.
//
// The invariant: the verbs of LeastVerbs allow all the changes, and none of the verbs can be left
// out.
//
// The package also decodes the roles and bindings of files. It sends no requests and writes nothing.
package roles
