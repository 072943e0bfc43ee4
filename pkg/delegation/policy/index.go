// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/pkg/apis/authority"
)

// Index holds the AuthorityDelegationPolicies that this server knows.
type Index struct {
	// byResource are the policies for each resource. Writes read it without mu.
	byResource atomic.Pointer[map[schema.GroupResource][]*Policy]

	mu    sync.Mutex
	byUID map[types.UID]*entry
	// tombstones has the UIDs of the policies that requests to this server removed, with the
	// resource version of the removal. An entry is kept until the watch has reported the removal,
	// because the watch can report older versions of the policy first.
	tombstones  map[types.UID]uint64
	synced      chan struct{}
	closeSynced sync.Once
}

type entry struct {
	policy  *Policy
	version uint64
}

// NewIndex returns an empty index.
func NewIndex() *Index {
	x := &Index{byUID: map[types.UID]*entry{}, tombstones: map[types.UID]uint64{}, synced: make(chan struct{})}
	x.byResource.Store(&map[schema.GroupResource][]*Policy{})
	return x
}

// Synced returns a channel that is closed once the index has all policies that were stored when
// the server started.
func (x *Index) Synced() <-chan struct{} { return x.synced }

// Empty reports whether this server knows no policy.
func (x *Index) Empty() bool { return len(*x.byResource.Load()) == 0 }

// For returns the policies for a resource, sorted by name.
func (x *Index) For(r schema.GroupResource) []*Policy { return (*x.byResource.Load())[r] }

// Resources returns the resources that there are policies for.
func (x *Index) Resources() []schema.GroupResource {
	return slices.Collect(maps.Keys(*x.byResource.Load()))
}

// Observe updates the index after a policy was stored or, if gone is true, removed. It ignores a
// stored version that is not newer than the version in the index, and any version of a policy that
// is known to be removed.
func (x *Index) Observe(p *v1alpha1.AuthorityDelegationPolicy, gone bool) {
	version := versionOf(p.ResourceVersion)
	x.mu.Lock()
	defer x.mu.Unlock()
	if gone {
		x.tombstones[p.UID] = version
		delete(x.byUID, p.UID)
		x.publish()
		return
	}
	if _, gone := x.tombstones[p.UID]; !gone && x.put(p, version) {
		x.publish()
	}
}

func versionOf(text string) uint64 {
	version, _ := strconv.ParseUint(text, 10, 64)
	return version
}

func (x *Index) put(p *v1alpha1.AuthorityDelegationPolicy, version uint64) bool {
	if old := x.byUID[p.UID]; old != nil && old.version >= version {
		return false
	}
	x.byUID[p.UID] = &entry{Compile(p.DeepCopy()), version}
	return true
}

func (x *Index) publish() {
	out := map[schema.GroupResource][]*Policy{}
	for _, k := range x.byUID {
		out[k.policy.Resource] = append(out[k.policy.Resource], k.policy)
	}
	for _, all := range out {
		slices.SortFunc(all, func(a, b *Policy) int { return cmp.Compare(a.Name, b.Name) })
	}
	x.byResource.Store(&out)
}

// ReflectorStore returns the store through which a reflector, which lists and watches all
// policies, updates the index.
func (x *Index) ReflectorStore() cache.ReflectorStore { return reflectorStore{x} }

type reflectorStore struct{ x *Index }

func (r reflectorStore) Add(obj any) error {
	if p, ok := obj.(*authority.AuthorityDelegationPolicy); ok {
		r.x.Observe((*v1alpha1.AuthorityDelegationPolicy)(p), false)
	}
	return nil
}

func (r reflectorStore) Update(obj any) error { return r.Add(obj) }

func (r reflectorStore) Delete(obj any) error {
	p, ok := obj.(*authority.AuthorityDelegationPolicy)
	if !ok {
		return nil
	}
	r.x.mu.Lock()
	defer r.x.mu.Unlock()
	delete(r.x.byUID, p.UID)
	delete(r.x.tombstones, p.UID)
	r.x.publish()
	return nil
}

// Replace replaces the content of the index by a list of all policies that were stored at the
// resource version listed. Policies in the index that were stored after that version stay.
func (r reflectorStore) Replace(list []any, listed string) error {
	x, version := r.x, versionOf(listed)
	there := map[types.UID]bool{}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, obj := range list {
		p, ok := obj.(*authority.AuthorityDelegationPolicy)
		if !ok {
			continue
		}
		there[p.UID] = true
		if _, gone := x.tombstones[p.UID]; !gone {
			x.put((*v1alpha1.AuthorityDelegationPolicy)(p), versionOf(p.ResourceVersion))
		}
	}
	maps.DeleteFunc(x.byUID, func(uid types.UID, k *entry) bool { return !there[uid] && k.version <= version })
	maps.DeleteFunc(x.tombstones, func(_ types.UID, removed uint64) bool { return removed <= version })
	x.publish()
	x.closeSynced.Do(func() { close(x.synced) })
	return nil
}

func (reflectorStore) Resync() error { return nil }
