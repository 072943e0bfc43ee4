// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"fmt"
	"iter"
	"strconv"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Kind says what a Mirror keeps of the objects of one kind. T is the type of the objects, K
// identifies them, and V is what the mirror keeps. The functions are called with the mirror's lock held.
type Kind[K comparable, T metav1.Object, V any] struct {
	// Key returns what identifies an object.
	Key func(object T) K
	// Compile returns what the mirror keeps of an object. The object must not be modified, and what
	// Observe got must be copied. old is what the mirror has of an earlier version, or nil.
	Compile func(object T, version uint64, old *V) *V
	// OnChange is called after each report that changed something, once for a whole list.
	OnChange func(changes []Change[V])
}

// Change is a change of one object. Old is nil if the mirror did not have the object, and New is nil
// if the object was removed.
type Change[V any] struct{ Old, New *V }

// Mirror has the objects of one kind that this server knows.
type Mirror[K comparable, T metav1.Object, V any] struct {
	kind Kind[K, T, V]
	// lock guards the fields below.
	lock *sync.RWMutex
	held map[K]versioned[V]
	// tombstones has the versions of removals that requests reported, and the watch did not.
	tombstones map[K]uint64
	// reached is the resource version up to which the watch has reported all changes. It never
	// decreases.
	reached uint64
	// synced is closed by the first list.
	synced chan struct{}
}

type versioned[V any] struct {
	version uint64
	value   *V
}

// New returns an empty mirror. The lock guards the mirror together with what its user derives from
// it, possibly from several mirrors.
func New[K comparable, T metav1.Object, V any](lock *sync.RWMutex, kind Kind[K, T, V]) *Mirror[K, T, V] {
	return &Mirror[K, T, V]{
		kind: kind, lock: lock, held: map[K]versioned[V]{}, tombstones: map[K]uint64{}, synced: make(chan struct{}),
	}
}

// Synced returns a channel that is closed once the mirror has all objects that were stored when the
// server started.
func (m *Mirror[K, T, V]) Synced() <-chan struct{} { return m.synced }

// HasSynced reports whether the mirror has all objects that were stored when the server started.
func (m *Mirror[K, T, V]) HasSynced() bool {
	select {
	case <-m.synced:
		return true
	default:
		return false
	}
}

// Get returns what the mirror has of an object, or nil. The caller holds the lock.
func (m *Mirror[K, T, V]) Get(key K) *V { return m.held[key].value }

// All returns all that the mirror has, in no particular order. The caller holds the lock.
func (m *Mirror[K, T, V]) All() iter.Seq[*V] {
	return func(yield func(*V) bool) {
		for _, known := range m.held {
			if !yield(known.value) {
				return
			}
		}
	}
}

// Tombstone returns the version of a removal that a request reported and the watch did not, or 0. The
// caller holds the lock.
func (m *Mirror[K, T, V]) Tombstone(key K) uint64 { return m.tombstones[key] }

// Observe applies what a request to this server has stored or, if gone is true, removed. It ignores an
// object without a valid resource version, because the watch reports the change too.
func (m *Mirror[K, T, V]) Observe(object T, gone bool) {
	version, err := versionOf(object)
	if err != nil {
		return
	}
	m.lock.Lock()
	defer m.lock.Unlock()
	if m.Get(m.kind.Key(object)) == nil && version <= m.reached {
		return
	}
	m.apply(object, version, gone)
}

// apply applies a change of an object, unless a newer one is known.
func (m *Mirror[K, T, V]) apply(object T, version uint64, gone bool) {
	key := m.kind.Key(object)
	known := m.held[key]
	last := max(known.version, m.tombstones[key])
	if version < last || version == last && !gone {
		return
	}
	delete(m.tombstones, key)
	var value *V
	if gone {
		delete(m.held, key)
		if version > m.reached {
			m.tombstones[key] = version
		}
	} else {
		value = m.kind.Compile(object, version, known.value)
		m.held[key] = versioned[V]{version, value}
	}
	if value != nil || known.value != nil {
		m.kind.OnChange([]Change[V]{{known.value, value}})
	}
}

// reach notes that the watch has reported all changes up to a version, and drops the tombstones that
// have served.
func (m *Mirror[K, T, V]) reach(version uint64) {
	m.reached = max(m.reached, version)
	for key, removed := range m.tombstones {
		if removed <= m.reached {
			delete(m.tombstones, key)
		}
	}
}

func versionOf(object metav1.Object) (uint64, error) {
	version, err := strconv.ParseUint(object.GetResourceVersion(), 10, 64)
	if err != nil || version == 0 {
		return 0, fmt.Errorf("%T %q has no valid resource version", object, object.GetName())
	}
	return version, nil
}
