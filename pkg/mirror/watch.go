// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"fmt"
	"reflect"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

// Run starts a goroutine that lists and then watches the stored objects until ctx ends. It returns
// once the mirror has synced, or an error if ctx ends before. example is an empty object of the type
// that stored returns, and name says in logs what these objects are.
func (m *Mirror[K, T, V]) Run(ctx context.Context, name string, stored *cache.ListWatch, example T) error {
	options := cache.ReflectorOptions{Name: "kube-granular/" + name}
	go cache.NewReflectorWithOptions(listThenWatch{stored}, example, m.ReflectorStore(), options).RunWithContext(ctx)
	select {
	case <-m.synced:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the server stopped before it had read the %s: %w", name, ctx.Err())
	}
}

// RunAll starts all runs at once, and returns once all of them have, or with the error of the first that
// fails. So a run that can't read what it waits for does not keep the others from reading.
func RunAll(ctx context.Context, runs ...func(context.Context) error) error {
	results := make(chan error, len(runs))
	for _, run := range runs {
		go func() { results <- run(ctx) }()
	}
	for range runs {
		if err := <-results; err != nil {
			return err
		}
	}
	return nil
}

// listThenWatch is a ListWatch that makes a reflector get the existing objects from a list, and only
// later changes from a watch. A watch that also reports the existing objects reports them in no order,
// so that no version would be reached.
type listThenWatch struct{ *cache.ListWatch }

// IsWatchListSemanticsUnSupported returns true. So a reflector does not get the existing objects
// from a watch (a streaming list).
func (listThenWatch) IsWatchListSemanticsUnSupported() bool { return true }

// ReflectorStore returns the store through which a reflector, which lists and watches all objects,
// updates the mirror.
func (m *Mirror[K, T, V]) ReflectorStore() cache.ReflectorStore { return reflectorStore[K, T, V]{m} }

type reflectorStore[K comparable, T metav1.Object, V any] struct{ mirror *Mirror[K, T, V] }

// Add implements cache.ReflectorStore.
func (r reflectorStore[K, T, V]) Add(obj any) error { return r.apply(obj, false) }

// Update implements cache.ReflectorStore.
func (r reflectorStore[K, T, V]) Update(obj any) error { return r.apply(obj, false) }

// Delete implements cache.ReflectorStore.
func (r reflectorStore[K, T, V]) Delete(obj any) error { return r.apply(obj, true) }

// Resync implements cache.ReflectorStore.
func (reflectorStore[K, T, V]) Resync() error { return nil }

// apply applies an event and notes its version in one step. Between two steps, a late report of a
// request could bring back what the event removed.
func (r reflectorStore[K, T, V]) apply(obj any, gone bool) error {
	object, version, err := read[T](obj)
	if err != nil {
		return err
	}
	r.mirror.lock.Lock()
	defer r.mirror.lock.Unlock()
	r.mirror.reached = max(r.mirror.reached, version)
	r.mirror.apply(object, version, gone)
	return nil
}

// Bookmark implements cache.ReflectorBookmarkStore.
func (r reflectorStore[K, T, V]) Bookmark(text string) error {
	version, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return fmt.Errorf("a bookmark of the watch: %w", err)
	}
	r.mirror.lock.Lock()
	defer r.mirror.lock.Unlock()
	r.mirror.reach(version)
	return nil
}

// Replace implements cache.ReflectorStore. The list has all objects that were stored at a version. It
// replaces all but what requests changed after that version.
func (r reflectorStore[K, T, V]) Replace(list []any, text string) error {
	version, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return fmt.Errorf("a list of objects: %w", err)
	}
	m := r.mirror
	m.lock.Lock()
	defer m.lock.Unlock()
	// A list is older than what the watch had reached only if storage was restored from a backup. Then
	// what the watch had reported since is gone as well.
	beyond := max(version, m.reached)
	held := make(map[K]versioned[V], len(list))
	var changes []Change[V]
	for _, obj := range list {
		object, version, err := read[T](obj)
		if err != nil {
			return err
		}
		key := m.kind.Key(object)
		known := m.held[key]
		switch {
		case known.version > beyond || m.tombstones[key] > beyond: // a request changed it after the list
		case known.version == version:
			held[key] = known
		default:
			value := m.kind.Compile(object, version, known.value)
			held[key] = versioned[V]{version, value}
			changes = append(changes, Change[V]{known.value, value})
		}
	}
	for key, known := range m.held {
		if known.version > beyond {
			held[key] = known
		} else if held[key].value == nil {
			changes = append(changes, Change[V]{Old: known.value})
		}
	}
	m.held = held
	m.reach(version)
	if len(changes) > 0 {
		m.kind.OnChange(changes)
	}
	if !m.HasSynced() {
		close(m.synced)
	}
	return nil
}

func read[T metav1.Object](obj any) (object T, version uint64, err error) {
	object, ok := obj.(T)
	if !ok {
		return object, 0, fmt.Errorf("the list or watch has an object of type %T, want %v", obj, reflect.TypeFor[T]())
	}
	version, err = versionOf(object)
	return object, version, err
}
