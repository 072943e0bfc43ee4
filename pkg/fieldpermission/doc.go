// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fieldpermission indexes the FieldPermissions that are in force on one server, and decides
// which of them may be stored.
//
//	requests, list and watch ──► mirror ──► Index ──► one immutable map: resource ──► *overlay.Entries
//	a write of a FieldPermission ──► Author ──► refused, completed, or stored with warnings
//	custom resources, built-in kinds ──► Resources ──► the versions and models of a resource
//
// A FieldPermission has the name of its resource, so a resource has at most one set of entries. The
// Gate (package gate) loads the entries of a resource once for each request.
//
// The invariant: a pointer to entries changes if and only if the entries change. So an edit of one
// FieldPermission makes the Gate compile the trees of one resource again, and no other; an edit of that of
// pods also those of the kinds with a pod template. When the storage answers a write, the map has the
// entries.
//
// The package decides no request for another resource, and writes nothing.
package fieldpermission
