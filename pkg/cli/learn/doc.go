// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package learn finds out from audit logs which permissions each subject used.
//
//	event ──► changes of the request ──► usage of a resource ──► minimal rules ──► grants
//	  │                 ▲
//	  └─► cache: the last version of each object, bounded
//
// Usage is counted for each resource in each namespace. If the log has an object before and after a
// write, the changed fields are computed from these two versions. If not, the package uses the
// fields that the patch names, or the permission verbs that a kube-granular server wrote into the
// event. The rules are the minimal ones that allow all requests, according to the library that the
// server uses.
//
// The invariant: memory is bounded by the number of subjects and resources. It does not depend on
// the length of the log or on the number of objects and namespaces. If a limit is exceeded, rules
// are widened and never dropped: from some object names to all names, from some namespaces to the
// cluster, from some label keys to all labels.
//
// The package reads no log file and sends no requests. It can't detect that a log is forged or
// incomplete.
package learn
