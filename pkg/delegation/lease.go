// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"context"
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

// Valid reports whether a delegation is valid now. It does not check the ancestors.
func (x *Index) Valid(d *Delegation) bool { return x.checkValid(d, x.now()) == nil }

// Lease returns when a delegation that a policy issued was last given to an object, and how long
// after that it is kept even if no object names it.
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

// ExpiredLeases returns the delegations that policies issued and whose lease has expired. It
// also returns the UIDs of the ancestors of every known delegation, by the UID of the
// delegation.
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
