// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package rbacindex

import (
	"sync"
	"sync/atomic"

	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// indexName is the name of the index in an informer.
const indexName = "kube-granular.dev/subject"

// watchedInformer is an informer with a counter of changes. The counter starts on first use.
type watchedInformer struct {
	informer cache.SharedIndexInformer
	// indexer is the indexer of the informer.
	indexer cache.Indexer
	// keys returns the index keys of an object.
	keys func(object any) []string

	once  sync.Once
	ready bool

	// changes grows whenever an object is added, changed or removed, while the informer's store
	// is locked; but not if the store is replaced by an empty list. Readers compare it before and
	// after.
	changes atomic.Uint64
}

// init sets the informer, whose changes are counted from the first use on.
func (w *watchedInformer) init(informer cache.SharedIndexInformer, keys func(object any) []string) {
	w.informer, w.indexer, w.keys = informer, informer.GetIndexer(), keys
}

// start starts counting and indexing, and reports whether that worked.
func (w *watchedInformer) start() bool {
	w.once.Do(func() {
		err := w.informer.AddIndexers(cache.Indexers{indexName: func(object any) ([]string, error) {
			w.changes.Add(1)
			return w.keys(object), nil
		}})
		if w.ready = err == nil; !w.ready {
			klog.ErrorS(err, "RBAC's objects could not be indexed, so every authorization lists all of them")
		}
	})
	return w.ready
}

// unchangedSince reports whether nothing has changed since the counter had a value. As a store
// can be emptied without counting, it also checks that the named object still exists, unless name
// is empty.
func (w *watchedInformer) unchangedSince(changes uint64, namespace, name string) bool {
	if w.changes.Load() != changes {
		return false
	}
	if name == "" {
		return true
	}
	_, ok, err := w.indexer.GetByKey(cache.NewObjectName(namespace, name).String())
	return ok && err == nil
}
