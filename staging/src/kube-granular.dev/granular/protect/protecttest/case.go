// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package protecttest

import (
	"maps"
	"slices"

	"kube-granular.dev/granular/protect"
)

// Source is a source of random numbers, such as a rand.Rand.
type Source interface{ IntN(n int) int }

// Case is one random write, with the entries in force and what its caller holds.
type Case struct {
	// Resource is the resource of the object, such as "deployments.apps", and Namespace the
	// namespace that the object is in. If the object is itself a Namespace, it is in no namespace
	// and the field is ignored.
	Resource, Namespace string
	Entries             []protect.Entry
	// Holds is what the caller holds: verbs, and roles. "ClusterRole a" stands for a ClusterRole
	// that a cluster role binding gives to the caller, and "Role a in default" or "ClusterRole a
	// in default" for a role that a role binding in the namespace default gives.
	Holds []string
	// Old is the object before the write; nil means that the write creates the object. Sent is the
	// object that the caller sent, and Final is the object that admission made from Sent.
	Old, Sent, Final map[string]any

	changes []difference
}

// Resources returns the resources that a Case may have.
func Resources() []string { return slices.Sorted(maps.Keys(slots)) }

// Random returns a Case with one of the given resources.
func Random(r Source, resources ...string) *Case { return random(r, true, resources) }

// RandomWithoutAdmission returns a Case in which admission changes nothing.
func RandomWithoutAdmission(r Source, resources ...string) *Case { return random(r, false, resources) }

func random(r Source, admission bool, resources []string) *Case {
	c := &Case{Resource: pick(r, resources...), Entries: randomEntries(r)}
	var old thing
	if r.IntN(4) > 0 {
		old = randomThing(r, c.Resource)
	}
	sent := edited(r, old, c.Resource)
	final := sent
	if admission && r.IntN(3) == 0 {
		final = edited(r, sent, c.Resource)
	}
	c.Holds = randomHolds(r)
	c.Namespace = pick(r, "default", "default", "default", "other")
	c.Old, c.Sent, c.Final = old.object(r), sent.object(r), final.object(r)
	c.changes = answering(differences(old, sent, c.Resource), differences(old, final, c.Resource))
	return c
}

// Verdict reports whether the write is refused for a caller who holds what holds lists. found has
// the names of the entries with mode Audit that protect a value of the write. Its value for a name
// is true if the write would be refused because of such a value, with all entries enforced. If
// refused is true, found means nothing.
func (c *Case) Verdict(holds []string) (refused bool, found map[string]bool) {
	held := map[string]bool{}
	for _, h := range holds {
		held[h] = true
	}
	return judge(c.Entries, c.Resource, c.Namespace, c.changes, held)
}
