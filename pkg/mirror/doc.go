// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mirror keeps the stored objects of one kind in memory, so that a server can decide about a
// request without a read from storage.
//
//	requests to this server ── Observe ──────────┐  before the request is answered
//	list, watch ── reflector ── ReflectorStore ──┴─► Mirror ── OnChange ──► what the user derives
//
// Requests and the watch report the same changes independently of each other, and in any order:
//
//   - Of two changes of one object, the one with the higher resource version counts. Of a removal and
//     another change with the same version, the removal counts.
//   - The watch reports all changes up to some version. A report by a request that is not newer, about
//     an object that the mirror does not have, comes late: the object was removed. It is ignored.
//   - A removal that a request reports leaves a tombstone until the watch has reached its version,
//     because the watch can report older changes of the object first.
//   - A list is all that is stored at its version. It replaces what is not newer than the list and not
//     newer than what the watch had reached.
//   - A report without a valid resource version, or with an object of another type, is ignored if a
//     request makes it, and an error if the watch makes it. A list with one such object is refused as a
//     whole, so that a mirror is never complete with something missing.
//
// Until the first list, a mirror has not synced: an object that it does not have can exist. What to do
// then is up to the user, who must fail closed.
//
// The invariant: when Observe returns, OnChange was called for the change. No report brings back an
// object that was removed.
//
// The package knows no kind of object, decides nothing and writes nothing.
package mirror
