// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package learn

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"kube-granular.dev/granular/change"
)

// Use is how often something was used, and by which requests.
type Use struct {
	Requests int       `json:"requests"`
	First    time.Time `json:"first"`
	Last     time.Time `json:"last"`
	// AuditIDs are those of the first requests.
	AuditIDs []string `json:"auditIDs"`
}

// maxAuditIDs is how many requests a Use names.
const maxAuditIDs = 3

func (u *Use) add(e *event) {
	if u.Requests == 0 || e.Received.Before(u.First) {
		u.First = e.Received
	}
	if e.Received.After(u.Last) {
		u.Last = e.Received
	}
	if u.Requests++; len(u.AuditIDs) < maxAuditIDs {
		u.AuditIDs = append(u.AuditIDs, e.AuditID)
	}
}

func (u *Use) join(v *Use) {
	if u.Requests == 0 || v.First.Before(u.First) {
		u.First = v.First
	}
	if v.Last.After(u.Last) {
		u.Last = v.Last
	}
	u.Requests += v.Requests
	u.AuditIDs = append(u.AuditIDs, v.AuditIDs...)
	u.AuditIDs = u.AuditIDs[:min(len(u.AuditIDs), maxAuditIDs)]
}

// needs is what requests for one object needed, or for all of a resource.
type needs struct {
	// ordinary are verbs that were asked for as they are.
	ordinary map[string]*Use
	// asked are the verbs of all requests, as an authorizer was asked for them first.
	asked map[string]bool
	// named are permission verbs that a server wrote into events.
	named map[string]*Use
	// sets are the changes of requests, those that need the same once.
	sets map[string]*changes
	// unknown are updates of which the log does not tell what they changed, by their verb.
	unknown map[string]*Use
	// fields is set where the fields of an update or a patch are known.
	fields bool
	// unchanged is how many of these changed nothing.
	unchanged int
}

type changes struct {
	set change.Set
	Use
}

func newNeeds() *needs {
	return &needs{
		ordinary: map[string]*Use{}, asked: map[string]bool{}, named: map[string]*Use{},
		sets: map[string]*changes{}, unknown: map[string]*Use{},
	}
}

// maxSets and maxNamed are how many different sets of changes, and verbs, are told apart for
// one object or resource. Past them they are joined: Least then widens label(a), label(b), …
// to labels, as one request with as many would be.
const (
	maxSets  = 200
	maxNamed = 60
)

func countUse(of map[string]*Use, key string, e *event) {
	if of[key] == nil {
		of[key] = &Use{}
	}
	of[key].add(e)
}

// add counts the changes of a request.
func (n *needs) add(ctx context.Context, set change.Set, e *event) {
	set, key := distinct(ctx, set)
	n.join(ctx, key, &changes{set: set}).add(e)
}

// join returns the changes with a key, made from those given if there are none.
func (n *needs) join(ctx context.Context, key string, c *changes) *changes {
	if n.sets[key] != nil {
		return n.sets[key]
	}
	if len(n.sets) >= maxSets {
		all := &changes{}
		for _, k := range slices.Sorted(maps.Keys(n.sets)) {
			all.set = append(all.set, n.sets[k].set...)
			all.Use.join(&n.sets[k].Use)
		}
		all.set = append(all.set, c.set...)
		all.set, key = distinct(ctx, all.set)
		all.set = all.set[:min(len(all.set), 2*maxSets)]
		n.sets = map[string]*changes{key: all}
		return all
	}
	n.sets[key] = c
	return c
}

// distinct returns one change of each chain of verbs, and what tells such sets apart.
func distinct(ctx context.Context, set change.Set) (change.Set, string) {
	var out change.Set
	keys := map[string]bool{}
	for i := range set {
		c := &set[i]
		var b strings.Builder
		for _, p := range c.Node.Chain() {
			if verbs, err := c.Verbs(ctx, nil, p); err == nil {
				for _, verb := range verbs {
					b.WriteString(verb.String())
				}
			}
			b.WriteByte(' ')
		}
		if c.Ambiguous {
			b.WriteByte('*')
		}
		if !keys[b.String()] {
			keys[b.String()] = true
			out = append(out, *c)
		}
	}
	return out, strings.Join(slices.Sorted(maps.Keys(keys)), "\n")
}

// merge adds what other requests needed.
func (n *needs) merge(ctx context.Context, m *needs) {
	for _, both := range []struct{ into, from map[string]*Use }{{n.ordinary, m.ordinary}, {n.named, m.named}, {n.unknown, m.unknown}} {
		for verb, use := range both.from {
			if both.into[verb] == nil {
				both.into[verb] = &Use{}
			}
			both.into[verb].join(use)
		}
	}
	maps.Copy(n.asked, m.asked)
	for key, c := range m.sets {
		n.join(ctx, key, &changes{set: c.set}).Use.join(&c.Use)
	}
	n.fields = n.fields || m.fields
	n.unchanged += m.unchanged
}
