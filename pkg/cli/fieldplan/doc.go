// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fieldplan tells what a FieldPermission would do before it exists.
//
//	entries + the published schema ──► what becomes of each entry
//	roles and bindings             ──► whom an exclusion stops, and whom not
//	other definitions              ──► which kinds contain the specification, and are not held
//	metadata.managedFields         ──► who writes the field in live objects
//	webhooks and mutating policies ──► who changes the objects for nobody
//
// Exclusions count as in mode Enforce, also if the object has mode Audit.
//
// The invariant: a subject to which a role allows a write of the resource is in one of the lists of each
// exclusion: stopped, holder, or not held. For pods, that is so for each kind with a pod template too.
//
// The package reads what it is given, asks no server and writes nothing. It knows RBAC alone: whom other
// authorizers allow a write is not in a plan.
package fieldplan
