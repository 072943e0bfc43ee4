// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"context"

	"k8s.io/client-go/tools/cache"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/pkg/apis/authority"
	"kube-granular.dev/pkg/mirror"
)

// Observe updates the index after a delegation was stored or, if gone is true, removed. Package
// mirror knows which reports are too old to count.
func (x *Index) Observe(d *v1alpha1.AuthorityDelegation, gone bool) {
	x.stored.Observe((*authority.AuthorityDelegation)(d), gone)
}

// Run keeps the index up to date with storage until ctx ends. It returns once the index has all
// stored delegations, or an error if ctx ends before.
func (x *Index) Run(ctx context.Context, stored *cache.ListWatch) error {
	return x.stored.Run(ctx, "delegations", stored, &authority.AuthorityDelegation{})
}

// ReflectorStore returns the store through which a reflector, which lists and watches all
// delegations, updates the index.
func (x *Index) ReflectorStore() cache.ReflectorStore { return x.stored.ReflectorStore() }

// HasSynced reports whether the index has all delegations that were stored when the server
// started.
func (x *Index) HasSynced() bool { return x.stored.HasSynced() }

// update keeps what the index derives from the stored delegations.
func (x *Index) update(changes []mirror.Change[Delegation]) {
	for _, c := range changes {
		if c.Old == nil {
			x.count.Add(1)
		} else if x.byName[c.Old.Name] == c.Old {
			delete(x.byName, c.Old.Name)
		}
		if c.New == nil {
			x.count.Add(-1)
		} else if newest := x.byName[c.New.Name]; newest == nil || newest.version < c.New.version || x.stored.Get(newest.UID) == nil {
			x.byName[c.New.Name] = c.New
		}
	}
}
