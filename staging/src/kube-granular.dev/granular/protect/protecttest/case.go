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

// Case is one random write, with the attributes in force and what its caller holds.
type Case struct {
	// Resource is that of the object, such as "deployments.apps", in Namespace. Objects of
	// namespaces are in none.
	Resource, Namespace string
	Entries             []protect.Entry
	// Holds is what the caller holds: verbs, and roles as "ClusterRole a", by a binding of
	// the cluster, or "Role a in default", by one in a namespace.
	Holds []string
	// Old is the object before the write, nil if it is created. Sent is the caller's, Final
	// what admission made of it.
	Old, Sent, Final map[string]any

	changes []difference
}

// Resources are those that a case may be of.
func Resources() []string { return slices.Sorted(maps.Keys(slots)) }

// Random returns a case of one of some resources.
func Random(r Source, resources ...string) *Case { return random(r, true, resources) }

// RandomWithoutAdmission returns a case of which admission changes nothing.
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

// Verdict reports whether the write is refused of who holds something and, if it is not, which
// entries with mode Audit would refuse it.
func (c *Case) Verdict(holds []string) (refused bool, found map[string]bool) {
	has := map[string]bool{}
	for _, h := range holds {
		has[h] = true
	}
	return judge(c.Entries, c.Resource, c.Namespace, c.changes, has)
}
