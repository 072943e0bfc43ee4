// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package rbacindex

import (
	"sync"
	"sync/atomic"

	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// indexName is the name of this package's index in an informer.
const indexName = "kube-granular.dev/subject"

// watchedInformer is an informer whose changes are counted, to find out whether a result read from
// it earlier can still be used. Counting starts when start is first called.
type watchedInformer struct {
	informer cache.SharedIndexInformer
	// indexer is the indexer of the informer.
	indexer cache.Indexer
	// keys returns the index keys of an object.
	keys func(object any) []string

	once  sync.Once
	ready bool

	// changes is incremented whenever an object is added, changed or removed, while the
	// informer's store is locked. It is not incremented if the store is replaced by an empty
	// list. If the value is the same before and after a read, nothing changed during the read.
	changes atomic.Uint64
}

// init sets the informer, and the index keys of its objects.
func (w *watchedInformer) init(informer cache.SharedIndexInformer, keys func(object any) []string) {
	w.informer, w.indexer, w.keys = informer, informer.GetIndexer(), keys
}

// start starts to count changes and to index objects, and reports whether the index could be
// added.
func (w *watchedInformer) start() bool {
	w.once.Do(func() {
		err := w.informer.AddIndexers(cache.Indexers{indexName: func(object any) ([]string, error) {
			w.changes.Add(1)
			return w.keys(object), nil
		}})
		if w.ready = err == nil; !w.ready {
			klog.ErrorS(err, "The roles or bindings of RBAC could not be indexed, so every authorization check lists all of them")
		}
	})
	return w.ready
}

// unchangedSince reports whether no object has changed since the counter had the value changes. The
// counter misses that the store was emptied. To detect that, the caller can pass the namespace and
// name of an object that was in the store: unchangedSince then returns false if the object is gone.
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
