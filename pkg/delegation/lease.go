// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"kube-granular.dev/api/authority/v1alpha1"
)

// Empty reports whether this server knows no delegation.
func (x *Index) Empty() bool { return x.count.Load() == 0 }

// ByName returns the delegation with a name, or nil if this server does not know it.
func (x *Index) ByName(name string) *Delegation {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.byName[name]
}

// ReadStored reads the delegation with a name from storage. It returns nil if there is none.
func (x *Index) ReadStored(ctx context.Context, name string) (*Delegation, error) {
	get := x.sources.Load().Get
	if get == nil {
		return nil, fmt.Errorf("AuthorityDelegation %q can't be read: the server has not opened its storage yet", name)
	}
	d, err := get(ctx, name)
	if err != nil {
		return nil, err
	}
	x.Observe(d, false)
	return x.ByName(name), nil
}

// Valid reports whether a delegation is valid now. It does not check whether the ancestors of the
// delegation are valid.
func (x *Index) Valid(d *Delegation) bool { return x.checkValid(d, x.now(), "") == nil }

// Counts are numbers of delegations by whether they can be used now.
type Counts struct {
	// Valid delegations can be used, and do not expire soon.
	Valid int
	// Ending delegations can be used, and expire soon, or an ancestor does.
	Ending int
	// Ended delegations can't be used, or have an ancestor that can't be used.
	Ended int
}

// Counts counts the delegations that this server knows. Ending are those that expire within a time.
func (x *Index) Counts(soon time.Duration) (c Counts) {
	x.mu.RLock()
	all := slices.Collect(x.stored.All())
	x.mu.RUnlock()
	now := x.now()
	for _, d := range all {
		chain := x.chain("", d.UID)
		ended := chain == nil || slices.ContainsFunc(chain.Links, func(link *Delegation) bool { return x.checkValid(link, now, "") != nil })
		switch {
		case ended:
			c.Ended++
		case expires(chain, now.Add(soon)):
			c.Ending++
		default:
			c.Valid++
		}
	}
	return c
}

// expires reports whether a chain expires before a moment.
func expires(c *Chain, moment time.Time) bool {
	until := c.ExpiresAt()
	return until != nil && until.Time.Before(moment)
}

// Lease returns the lease of a delegation that a policy issued: its start, which is the creation of
// the delegation or the last renewal, and its duration. During the lease, the delegation is kept
// even if no object refers to it.
func (d *Delegation) Lease() (start time.Time, stays time.Duration) {
	start = d.Source.CreationTimestamp.Time
	if renewed := d.Source.Status.Cause.Renewed; renewed != nil && renewed.After(start) {
		start = renewed.Time
	}
	seconds := d.Source.Status.Cause.OrphanSeconds
	if seconds < v1alpha1.MinOrphanSeconds {
		seconds = v1alpha1.MinOrphanSeconds
	}
	return start, time.Duration(seconds) * time.Second
}

// ExpiredLeases returns the delegations that policies issued and whose lease has expired. It also
// returns, for every known delegation with ancestors, the UIDs of all its ancestors. The keys of
// that map are the UIDs of the delegations.
func (x *Index) ExpiredLeases(now time.Time) (over []*Delegation, parents map[types.UID][]types.UID) {
	parents = map[types.UID][]types.UID{}
	x.mu.RLock()
	defer x.mu.RUnlock()
	for d := range x.stored.All() {
		for _, e := range d.History {
			if e.Via == v1alpha1.ViaDelegation {
				parents[d.UID] = append(parents[d.UID], e.UID)
			}
		}
		if d.Source == nil || d.deleting {
			continue
		}
		if start, stays := d.Lease(); now.Sub(start) >= stays {
			over = append(over, d)
		}
	}
	return over, parents
}

// LentUntil returns the stored delegations that kubectl granular lend made and that ended before a moment.
func (x *Index) LentUntil(moment time.Time) (out []*v1alpha1.AuthorityDelegation) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for d := range x.stored.All() {
		if d.lent != nil && !d.deleting && !d.Until.IsZero() && d.Until.Before(moment) {
			out = append(out, d.lent)
		}
	}
	return out
}
