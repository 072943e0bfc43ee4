// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"strconv"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/pkg/apis/authority"
)

// Observe updates the index after a delegation was stored or, if gone is true, removed. It ignores
// a stored version that is not newer than the version in the index, and any version of a delegation
// that is known to be removed.
func (x *Index) Observe(d *v1alpha1.AuthorityDelegation, gone bool) {
	version := versionOf(d.ResourceVersion)
	x.mu.Lock()
	defer x.mu.Unlock()
	if gone {
		x.tombstones[d.UID] = version
		x.remove(d.UID)
		return
	}
	if _, gone := x.tombstones[d.UID]; gone || x.byUID[d.UID] == nil && version <= x.watchVersion {
		return
	}
	x.put(d, version)
}

func versionOf(text string) uint64 {
	version, _ := strconv.ParseUint(text, 10, 64)
	return version
}

func (x *Index) put(d *v1alpha1.AuthorityDelegation, version uint64) {
	old := x.byUID[d.UID]
	if old != nil && old.version >= version {
		return
	}
	compiled := compile(d.DeepCopy(), version, old)
	if old != nil {
		compiled.usage = mergeUsage(old.usage, compiled.usage)
	} else {
		x.count.Add(1)
	}
	x.byUID[d.UID] = compiled
	// Only the newest of several delegations with the same name exists. The others were removed,
	// but this server does not know about the removals yet.
	if other := x.byUID[x.byName[d.Name]]; other == nil || other.UID == d.UID || other.version < version {
		x.byName[d.Name] = d.UID
	}
}

// mergeUsage returns old, after setting each of the two times in old to the time in now if that is
// later.
func mergeUsage(old, now *usage) *usage {
	if last := now.lastUsed.Load(); last > old.lastUsed.Load() {
		old.lastUsed.Store(last)
	}
	if written := now.lastWritten.Load(); written > old.lastWritten.Load() {
		old.lastWritten.Store(written)
	}
	return old
}

func (x *Index) remove(uid types.UID) {
	d := x.byUID[uid]
	if d == nil {
		return
	}
	delete(x.byUID, uid)
	x.count.Add(-1)
	if x.byName[d.Name] == uid {
		delete(x.byName, d.Name)
	}
}

// ReflectorStore returns the store through which a reflector, which lists and watches all
// delegations, updates the index.
func (x *Index) ReflectorStore() cache.ReflectorStore { return reflectorStore{x} }

type reflectorStore struct{ x *Index }

func (r reflectorStore) Add(obj any) error {
	if d, ok := obj.(*authority.AuthorityDelegation); ok {
		r.x.Observe((*v1alpha1.AuthorityDelegation)(d), false)
		r.advance(d.ResourceVersion)
	}
	return nil
}

func (r reflectorStore) advance(version string) {
	r.x.mu.Lock()
	defer r.x.mu.Unlock()
	r.x.watchVersion = max(r.x.watchVersion, versionOf(version))
}

// Bookmark implements cache.ReflectorBookmarkStore.
func (r reflectorStore) Bookmark(version string) error {
	r.advance(version)
	return nil
}

func (r reflectorStore) Update(obj any) error { return r.Add(obj) }

func (r reflectorStore) Delete(obj any) error {
	d, ok := obj.(*authority.AuthorityDelegation)
	if !ok {
		return nil
	}
	r.x.mu.Lock()
	defer r.x.mu.Unlock()
	r.x.remove(d.UID)
	delete(r.x.tombstones, d.UID)
	r.x.watchVersion = max(r.x.watchVersion, versionOf(d.ResourceVersion))
	return nil
}

// Replace replaces the content of the index by a list of all delegations that were stored at the
// resource version listed. Delegations in the index that were stored after that version stay.
func (r reflectorStore) Replace(list []any, listed string) error {
	x, version := r.x, versionOf(listed)
	there := map[types.UID]bool{}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, obj := range list {
		d, ok := obj.(*authority.AuthorityDelegation)
		if !ok {
			continue
		}
		there[d.UID] = true
		if _, gone := x.tombstones[d.UID]; !gone {
			x.put((*v1alpha1.AuthorityDelegation)(d), versionOf(d.ResourceVersion))
		}
	}
	for uid, d := range x.byUID {
		if !there[uid] && d.version <= version {
			x.remove(uid)
		}
	}
	for uid, removed := range x.tombstones {
		if removed <= version {
			delete(x.tombstones, uid)
		}
	}
	x.watchVersion = max(x.watchVersion, version)
	x.synced.Store(true)
	return nil
}

func (reflectorStore) Resync() error { return nil }
