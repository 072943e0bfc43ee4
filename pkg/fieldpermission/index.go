// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldpermission

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/api/authority/validation"
	"kube-granular.dev/granular/overlay"
	"kube-granular.dev/pkg/apis/authority"
	"kube-granular.dev/pkg/fieldpermission/entry"
	"kube-granular.dev/pkg/mirror"
)

// waitTimeout is how long a request waits until the server has read the FieldPermissions.
const waitTimeout = 5 * time.Second

// Index has the FieldPermissions of one server.
type Index struct {
	lock   sync.RWMutex
	mirror *mirror.Mirror[string, *authority.FieldPermission, record]
	// inForce has the entries that hold for each resource; see overlay.InForce. The map is never modified.
	inForce atomic.Pointer[map[schema.GroupResource]*overlay.Entries]
	// synced is true once the server has read all FieldPermissions. Then the mirror is synced too.
	synced atomic.Bool
	// changes has an element if a FieldPermission has changed since the last read from the channel.
	changes chan struct{}
	counts  counts
}

// record is what the index has of one FieldPermission, which must not be modified.
type record struct {
	object  *v1alpha1.FieldPermission
	entries *overlay.Entries
}

// NewIndex returns an empty index.
func NewIndex() *Index {
	x := &Index{changes: make(chan struct{}, 1), counts: newCounts()}
	x.inForce.Store(&map[schema.GroupResource]*overlay.Entries{})
	x.mirror = mirror.New(&x.lock, mirror.Kind[string, *authority.FieldPermission, record]{
		Key: func(p *authority.FieldPermission) string { return p.Name },
		Compile: func(p *authority.FieldPermission, _ uint64, old *record) *record {
			object := (*v1alpha1.FieldPermission)(p)
			entries, _ := entry.Parse(object)
			if old != nil && same(entries, old.entries) {
				entries = old.entries
			}
			return &record{object, entries}
		},
		OnChange: x.update,
	})
	return x
}

// update replaces the map if entries have changed. It is called with the lock held.
func (x *Index) update(changes []mirror.Change[record]) {
	changed := map[schema.GroupResource]bool{}
	for _, c := range changes {
		if c.New == nil {
			// What was counted must not be added to a new object of that name.
			x.counts.forget(c.Old.object.Name)
		}
		if c.Old != nil && c.New != nil && c.Old.entries == c.New.entries {
			continue
		}
		if c.New == nil {
			changed[resourceOf(c.Old.object)] = true
		} else {
			changed[resourceOf(c.New.object)] = true
		}
	}
	if len(changed) > 0 {
		x.putInForce(changed)
	}
	x.NotifyChange()
}

// putInForce replaces the entries of some resources in the map, and of those in which entries of pods hold
// if those of pods are among them. Entries that stay equal stay the same pointer. It is called with the
// lock held.
func (x *Index) putInForce(changed map[schema.GroupResource]bool) {
	if changed[overlay.Pods] {
		for _, resource := range overlay.HoldsIn() {
			changed[resource] = true
		}
	}
	next := maps.Clone(*x.inForce.Load())
	pods := x.own(overlay.Pods)
	for resource := range changed {
		entries := overlay.InForce(resource, x.own(resource), pods)
		switch old := next[resource]; {
		case entries == nil:
			delete(next, resource)
		case old == nil || old != entries && !same(old, entries):
			next[resource] = entries
		}
	}
	x.inForce.Store(&next)
}

// own returns the entries of the FieldPermission of a resource, nil if there is none. It is called with the
// lock held.
func (x *Index) own(resource schema.GroupResource) *overlay.Entries {
	if r := x.mirror.Get(resource.String()); r != nil {
		return r.entries
	}
	return nil
}

// Own returns the entries of the FieldPermission of a resource, nil if there is none.
func (x *Index) Own(resource schema.GroupResource) *overlay.Entries {
	x.lock.RLock()
	defer x.lock.RUnlock()
	return x.own(resource)
}

func resourceOf(p *v1alpha1.FieldPermission) schema.GroupResource {
	return schema.GroupResource(validation.ResourceOf(p.Name))
}

// Entries returns the entries that hold for a resource, nil if there are none, and whether the server has
// read all FieldPermissions. If it has not, entries can be missing. Entries does not allocate.
func (x *Index) Entries(group, resource string) (*overlay.Entries, bool) {
	synced := x.synced.Load()
	return (*x.inForce.Load())[schema.GroupResource{Group: group, Resource: resource}], synced
}

// Wait waits until the server has read all FieldPermissions, at most waitTimeout. If it has not by then,
// Wait returns an error that is meant for the client.
func (x *Index) Wait(ctx context.Context) error {
	timeout := time.NewTimer(waitTimeout)
	defer timeout.Stop()
	select {
	case <-x.mirror.Synced():
		return nil
	case <-ctx.Done():
	case <-timeout.C:
	}
	return apierrors.NewServiceUnavailable("the server has not read the FieldPermissions yet")
}

// Observe applies a change that a request to this server made: it has stored a FieldPermission or, if gone
// is true, removed it. When Observe returns, Entries includes the change.
func (x *Index) Observe(p *v1alpha1.FieldPermission, gone bool) {
	x.mirror.Observe((*authority.FieldPermission)(p.DeepCopy()), gone)
}

// Run starts a goroutine that reads and watches the stored FieldPermissions until ctx ends. It returns nil
// once all are read, and an error if ctx ends before.
func (x *Index) Run(ctx context.Context, stored *cache.ListWatch) error {
	if err := x.mirror.Run(ctx, "fieldpermissions", stored, &authority.FieldPermission{}); err != nil {
		return err
	}
	x.synced.Store(true)
	return nil
}

// Changes returns a channel that has an element if a FieldPermission, or anything else that NotifyChange was
// called for, has changed since the last read. Only one goroutine may read from it.
func (x *Index) Changes() <-chan struct{} { return x.changes }

// NotifyChange puts an element into Changes.
func (x *Index) NotifyChange() {
	select {
	case x.changes <- struct{}{}:
	default: // the reader has not received the last change yet
	}
}

// Stored is a FieldPermission with its entries. Neither must be modified.
type Stored struct {
	*v1alpha1.FieldPermission
	Entries *overlay.Entries
}

// Has reports whether there is a FieldPermission with a name.
func (x *Index) Has(name string) bool {
	x.lock.RLock()
	defer x.lock.RUnlock()
	return x.mirror.Get(name) != nil
}

// All returns all FieldPermissions in no particular order.
func (x *Index) All() (out []Stored) {
	x.lock.RLock()
	defer x.lock.RUnlock()
	for r := range x.mirror.All() {
		out = append(out, Stored{r.object, r.entries})
	}
	return out
}
