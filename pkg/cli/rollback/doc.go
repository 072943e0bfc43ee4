// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rollback lists what changes if the servers of a cluster become upstream's again: what is open then, what does not
// work any more, and what stays in storage although nobody sees it.
//
//	objects of the cluster ──► Read ──► findings ──► table, JSON or YAML
//
// The invariant: Read fails if it can't list something that the server serves. So a short list means that there is little, and
// not that the caller may not see more.
//
//	objects of the cluster ──► StandInsOf ──► policies and ordinary roles, and why there are no others
//
// The package writes nothing to the cluster, and does not judge whether it should be rolled back.
package rollback
