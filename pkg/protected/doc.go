// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package protected knows which attributes are in force on one server, and who holds the
// roles they refer to.
//
//	store ── hooks ──► Observe ─┐  before the request is answered
//	      ── list, watch ───────┤
//	namespaces ── informer ─────┴─► Index ──► *protect.Set, behind an atomic pointer
//	bindings ── informers ────────► roles ──► Holds
//
// A Protection is all of it for one server. The hooks tell of changes that this server
// makes, so a write that begins after the change was acknowledged is judged by it. The
// watch tells of everybody's, later. Changes of one attribute are ordered by their resource
// versions. What the watch has passed it knows better than any hook; what a hook told beyond
// that stands, a removal too, until the watch has passed it. A list replaces all that the
// watch had passed.
//
// An attribute of a namespace that is gone has no effect in another of the same name. Where
// it is not known which namespace is meant, it has: see ADR 0037 and ADR 0039.
//
// A role is held through RBAC's objects, whatever authorizers are configured. Upstream's own
// code matches subjects.
//
// The invariant: at any time the Set holds, of every attribute, the newest state that a list, a
// watch or a hook told of, and nothing else. No attribute is left out for being one too many.
//
// The package decides about no write, and writes no attribute.
package protected
