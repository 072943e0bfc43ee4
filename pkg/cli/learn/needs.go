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

// Use counts how often something was used, and names some of the requests.
type Use struct {
	Requests int       `json:"requests"`
	First    time.Time `json:"first"`
	Last     time.Time `json:"last"`
	// AuditIDs are the audit IDs of the first requests.
	AuditIDs []string `json:"auditIDs"`
}

// maxAuditIDs limits the requests that a Use names.
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

// needs are the permissions that requests for one object needed, or requests for all objects of a
// resource.
type needs struct {
	// ordinary are ordinary verbs that were needed.
	ordinary map[string]*Use
	// asked are the request verbs, which the authorizer checks first.
	asked map[string]bool
	// named are permission verbs that a server wrote into events.
	named map[string]*Use
	// sets are the changes of requests, grouped by the verbs that they need.
	sets map[string]*changes
	// unknown are updates and patches whose changes the log does not show, by verb.
	unknown map[string]*Use
	// fields is true if the changed fields of an update or a patch are known.
	fields bool
	// unchanged is the number of those requests that changed nothing.
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

// maxSets and maxNamed limit the different sets of changes, and verbs, of one object or resource.
// Past the limit they are merged: LeastVerbs then widens label(a), label(b), … to labels, as for
// one request with that many changes.
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

// join returns the changes with a key. If there are none, it stores c under the key.
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

// distinct returns one change for each chain of verbs, and a key that identifies the set.
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

// merge adds the needs of other requests.
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
