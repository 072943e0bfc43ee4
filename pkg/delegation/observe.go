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

// Observe takes what a request to this server has stored, or removed. Versions that are older
// than what is known are left out.
func (x *Index) Observe(d *v1alpha1.AuthorityDelegation, gone bool) {
	version := versionOf(d.ResourceVersion)
	x.mu.Lock()
	defer x.mu.Unlock()
	if gone {
		x.gone[d.UID] = version
		x.remove(d.UID)
		return
	}
	if _, gone := x.gone[d.UID]; gone || x.byUID[d.UID] == nil && version <= x.seen {
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
	compiled := compile(d.DeepCopy(), version)
	if old != nil {
		compiled.use = inherit(old.use, compiled.use)
	} else {
		x.known.Add(1)
	}
	x.byUID[d.UID] = compiled
	// The newest of a name is the one that is there: the others' removal is not known yet.
	if other := x.byUID[x.byName[d.Name]]; other == nil || other.UID == d.UID || other.version < version {
		x.byName[d.Name] = d.UID
	}
}

// inherit returns what both know of uses.
func inherit(old, now *use) *use {
	if last := now.last.Load(); last > old.last.Load() {
		old.last.Store(last)
	}
	if written := now.written.Load(); written > old.written.Load() {
		old.written.Store(written)
	}
	return old
}

func (x *Index) remove(uid types.UID) {
	d := x.byUID[uid]
	if d == nil {
		return
	}
	delete(x.byUID, uid)
	x.known.Add(-1)
	if x.byName[d.Name] == uid {
		delete(x.byName, d.Name)
	}
}

// Reflected returns the index as a reflector writes it.
func (x *Index) Reflected() cache.ReflectorStore { return reflected{x} }

type reflected struct{ x *Index }

func (r reflected) Add(obj any) error {
	if d, ok := obj.(*authority.AuthorityDelegation); ok {
		r.x.Observe((*v1alpha1.AuthorityDelegation)(d), false)
		r.saw(d.ResourceVersion)
	}
	return nil
}

func (r reflected) saw(version string) {
	r.x.mu.Lock()
	defer r.x.mu.Unlock()
	r.x.seen = max(r.x.seen, versionOf(version))
}

// Bookmark implements cache.ReflectorBookmarkStore.
func (r reflected) Bookmark(version string) error {
	r.saw(version)
	return nil
}

func (r reflected) Update(obj any) error { return r.Add(obj) }

func (r reflected) Delete(obj any) error {
	d, ok := obj.(*authority.AuthorityDelegation)
	if !ok {
		return nil
	}
	r.x.mu.Lock()
	defer r.x.mu.Unlock()
	r.x.remove(d.UID)
	delete(r.x.gone, d.UID)
	r.x.seen = max(r.x.seen, versionOf(d.ResourceVersion))
	return nil
}

// Replace takes a list of all that is stored, at a version. What this server stored later is
// kept.
func (r reflected) Replace(list []any, listed string) error {
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
		if _, gone := x.gone[d.UID]; !gone {
			x.put((*v1alpha1.AuthorityDelegation)(d), versionOf(d.ResourceVersion))
		}
	}
	for uid, d := range x.byUID {
		if !there[uid] && d.version <= version {
			x.remove(uid)
		}
	}
	for uid, removed := range x.gone {
		if removed <= version {
			delete(x.gone, uid)
		}
	}
	x.seen = max(x.seen, version)
	x.read.Store(true)
	return nil
}

func (reflected) Resync() error { return nil }
