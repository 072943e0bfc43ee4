// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package learn finds out from audit logs which permissions each subject used.
//
//	event ──► changes of the request ──► usage of a resource ──► minimal rules ──► grants
//	  │                 ▲
//	  └─► cache: the last version of each object, bounded
//
// Usage is counted for each resource in each namespace. For a write, the changed fields are
// computed from the versions of the object before and after it, if the log has both. If not, they
// are those that the patch names, or those of the verbs that a kube-granular server wrote into
// the event. The rules are the minimal ones that allow all requests, according to the library
// that the server uses.
//
// The invariant: memory is bounded by the number of subjects and resources. It does not depend on
// the length of the log or on the number of objects and namespaces. Past a limit, rules are
// widened and never dropped: names to all names, namespaces to the cluster, a label key to all
// labels.
//
// The package reads no log file and sends no requests. It can't detect that a log is forged or
// incomplete.
package learn
