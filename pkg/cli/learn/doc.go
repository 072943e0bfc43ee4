// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package learn finds out from audit logs which rights each subject used.
//
//	event ──► what the request changed ──► use of a place ──► least rules ──► grants
//	  │                 ▲
//	  └─► store: the last version of each object, bounded
//
// A place is a resource in a namespace. For a write the fields are found that the request
// changed: from the version before and after it where both are in the log, else from what a
// patch names, else from the verbs that a kube-granular server wrote into the event. The rules
// are the least that allow all of it, by the library that the server decides with.
//
// The invariant: memory is bounded by the number of subjects and resources, and not by the
// length of the log, the number of objects or that of namespaces. What does not fit is widened,
// never dropped: names to all names, namespaces to the cluster, a label key to all labels.
//
// The package reads no log file and asks no server. That the log is true and whole is up to
// whoever keeps it.
package learn
