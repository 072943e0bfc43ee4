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

// Use counts the requests that needed a verb, and names some of them.
type Use struct {
	Requests int `json:"requests"`
	// First and Last are the times of the first and the last request, or zero if no event has a time.
	First time.Time `json:"first,omitzero"`
	Last  time.Time `json:"last,omitzero"`
	// AuditIDs are the audit IDs of the first few requests.
	AuditIDs []string `json:"auditIDs"`
}

// maxAuditIDs is the maximum number of requests that a Use names.
const maxAuditIDs = 3

func (u *Use) add(e *event) {
	u.span(e.Received, e.Received)
	if u.Requests++; len(u.AuditIDs) < maxAuditIDs {
		u.AuditIDs = append(u.AuditIDs, e.AuditID)
	}
}

// span extends the time of the use. A zero time is not known: some old events have no time.
func (u *Use) span(first, last time.Time) {
	if u.First.IsZero() || !first.IsZero() && first.Before(u.First) {
		u.First = first
	}
	if last.After(u.Last) {
		u.Last = last
	}
}

func (u *Use) join(v *Use) {
	u.span(v.First, v.Last)
	u.Requests += v.Requests
	u.AuditIDs = append(u.AuditIDs, v.AuditIDs...)
	u.AuditIDs = u.AuditIDs[:min(len(u.AuditIDs), maxAuditIDs)]
}

// needs are the permissions that a subject's requests needed for one object of a resource, or for
// all objects of a resource together.
type needs struct {
	// ordinary maps the ordinary verbs that were needed, such as get, to their use.
	ordinary map[string]*Use
	// asked are the verbs of the requests. The server checks these verbs first, so a rule with one
	// of them counts as used.
	asked map[string]bool
	// named maps the permission verbs that the server wrote into events to their use.
	named map[string]*Use
	// sets are the changes of requests, grouped by the verbs that cover the changes.
	sets map[string]*changeUse
	// unknown maps update and patch to the requests whose changed fields the log does not show.
	unknown map[string]*Use
	// fields is true if the changed fields of at least one update or patch are known.
	fields bool
	// granular is true if the verb granular is needed: fields is true, or a request created an object.
	granular bool
	// unchanged is the number of updates and patches that changed nothing.
	unchanged int
}

type changeUse struct {
	set change.Set
	Use
}

func newNeeds() *needs {
	return &needs{
		ordinary: map[string]*Use{}, asked: map[string]bool{}, named: map[string]*Use{},
		sets: map[string]*changeUse{}, unknown: map[string]*Use{},
	}
}

// maxSets and maxNamed are the maximum numbers of entries in needs.sets and needs.named. If there
// are more sets of changes, they are merged into one. roles.LeastVerbs then replaces label(a),
// label(b), … by labels, as for a single request with too many changes.
const (
	maxSets  = 200
	maxNamed = 60
)

func countUse(uses map[string]*Use, key string, e *event) {
	if uses[key] == nil {
		uses[key] = &Use{}
	}
	uses[key].add(e)
}

// add adds the changes of a request to n.sets, and counts the request.
func (n *needs) add(ctx context.Context, set change.Set, e *event) {
	set, key := distinct(ctx, set)
	n.join(ctx, key, &changeUse{set: set}).add(e)
}

// join returns the entry of n.sets with a key. If there is none, it stores c as the entry. If
// n.sets would then have more than maxSets entries, it merges c and all entries into one and
// returns that.
func (n *needs) join(ctx context.Context, key string, c *changeUse) *changeUse {
	if n.sets[key] != nil {
		return n.sets[key]
	}
	if len(n.sets) >= maxSets {
		all := &changeUse{}
		for _, k := range slices.Sorted(maps.Keys(n.sets)) {
			all.set = append(all.set, n.sets[k].set...)
			all.Use.join(&n.sets[k].Use)
		}
		all.set = append(all.set, c.set...)
		all.set, key = distinct(ctx, all.set)
		all.set = all.set[:min(len(all.set), 2*maxSets)]
		n.sets = map[string]*changeUse{key: all}
		return all
	}
	n.sets[key] = c
	return c
}

// distinct drops each change that is covered by the same verbs as an earlier change of the set.
// The returned key is equal for two sets that need the same verbs.
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

// merge adds the needs m to n.
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
		n.join(ctx, key, &changeUse{set: c.set}).Use.join(&c.Use)
	}
	n.fields = n.fields || m.fields
	n.granular = n.granular || m.granular
	n.unchanged += m.unchanged
}
