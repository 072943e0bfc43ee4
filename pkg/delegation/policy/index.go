// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/pkg/apis/authority"
	"kube-granular.dev/pkg/mirror"
)

// Index holds the AuthorityDelegationPolicies that this server knows.
type Index struct {
	// byResource are the policies for each resource. Writes read it without a lock.
	byResource atomic.Pointer[map[schema.GroupResource][]*Policy]
	stored     *mirror.Mirror[types.UID, *authority.AuthorityDelegationPolicy, Policy]
}

// NewIndex returns an empty index.
func NewIndex() *Index {
	x := &Index{}
	x.byResource.Store(&map[schema.GroupResource][]*Policy{})
	x.stored = mirror.New(&sync.RWMutex{}, mirror.Kind[types.UID, *authority.AuthorityDelegationPolicy, Policy]{
		Key: func(p *authority.AuthorityDelegationPolicy) types.UID { return p.UID },
		Compile: func(p *authority.AuthorityDelegationPolicy, _ uint64, _ *Policy) *Policy {
			return Compile((*v1alpha1.AuthorityDelegationPolicy)(p).DeepCopy())
		},
		OnChange: x.publish,
	})
	return x
}

// Synced returns a channel that is closed once the index has all policies that were stored when
// the server started.
func (x *Index) Synced() <-chan struct{} { return x.stored.Synced() }

// Empty reports whether this server knows no policy.
func (x *Index) Empty() bool { return len(*x.byResource.Load()) == 0 }

// For returns the policies for a resource, sorted by name.
func (x *Index) For(r schema.GroupResource) []*Policy { return (*x.byResource.Load())[r] }

// Resources returns the resources that there are policies for.
func (x *Index) Resources() []schema.GroupResource {
	return slices.Collect(maps.Keys(*x.byResource.Load()))
}

// Observe updates the index after a policy was stored or, if gone is true, removed. Package mirror
// says which reports are too old to count.
func (x *Index) Observe(p *v1alpha1.AuthorityDelegationPolicy, gone bool) {
	x.stored.Observe((*authority.AuthorityDelegationPolicy)(p), gone)
}

// Run keeps the index up to date with storage until ctx ends. It returns once the index has all
// stored policies, or an error if ctx ends before.
func (x *Index) Run(ctx context.Context, stored *cache.ListWatch) error {
	return x.stored.Run(ctx, "policies", stored, &authority.AuthorityDelegationPolicy{})
}

// ReflectorStore returns the store through which a reflector, which lists and watches all
// policies, updates the index.
func (x *Index) ReflectorStore() cache.ReflectorStore { return x.stored.ReflectorStore() }

func (x *Index) publish([]mirror.Change[Policy]) {
	all := map[schema.GroupResource][]*Policy{}
	for p := range x.stored.All() {
		all[p.Resource] = append(all[p.Resource], p)
	}
	for _, policies := range all {
		slices.SortFunc(policies, func(a, b *Policy) int { return cmp.Compare(a.Name, b.Name) })
	}
	x.byResource.Store(&all)
}
