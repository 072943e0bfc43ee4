// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"kube-granular.dev/api/authority/v1alpha1"
)

// Empty reports whether there is no delegation.
func (x *Index) Empty() bool { return x.count.Load() == 0 }

// ByName returns the delegation with a name, nil if this server knows none.
func (x *Index) ByName(name string) *Delegation {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.byUID[x.byName[name]]
}

// ReadStored reads the delegation with a name from storage. It returns nil if there is none.
func (x *Index) ReadStored(ctx context.Context, name string) (*Delegation, error) {
	d, err := x.Get(ctx, name)
	if err != nil {
		return nil, err
	}
	x.Observe(d, false)
	return x.ByName(name), nil
}

// Valid reports whether a delegation itself is valid now, whatever its chain.
func (x *Index) Valid(d *Delegation) bool { return x.checkValid(d, x.now()) == nil }

// Lease returns when a delegation of a policy was last given to an object, and for how long it is
// kept when no object names it.
func (d *Delegation) Lease() (from time.Time, stays time.Duration) {
	from = d.Source.CreationTimestamp.Time
	if renewed := d.Source.Status.Cause.Renewed; renewed != nil && renewed.After(from) {
		from = renewed.Time
	}
	seconds := d.Source.Status.Cause.OrphanSeconds
	if seconds < v1alpha1.MinOrphanSeconds {
		seconds = v1alpha1.MinOrphanSeconds
	}
	return from, time.Duration(seconds) * time.Second
}

// ExpiredLeases returns the delegations of policies whose lease has expired, and, by UID, the
// ancestors of each delegation.
func (x *Index) ExpiredLeases(now time.Time) (over []*Delegation, parents map[types.UID][]types.UID) {
	parents = map[types.UID][]types.UID{}
	x.mu.RLock()
	defer x.mu.RUnlock()
	for uid, d := range x.byUID {
		for _, e := range d.History {
			if e.Via == v1alpha1.ViaDelegation {
				parents[uid] = append(parents[uid], e.UID)
			}
		}
		if d.Source == nil || d.deleting {
			continue
		}
		if from, stays := d.Lease(); now.Sub(from) >= stays {
			over = append(over, d)
		}
	}
	return over, parents
}
