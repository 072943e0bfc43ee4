// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package rbacindex

import (
	"sync"
	"sync/atomic"

	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// indexName is that of the index in an informer.
const indexName = "kube-granular.dev/subject"

// watchedInformer is an informer whose changes are noticed. It is watched from when that is first
// needed.
type watchedInformer struct {
	informer cache.SharedIndexInformer
	// indexer is that of the informer.
	indexer cache.Indexer
	// keys index the objects.
	keys func(object any) []string

	once  sync.Once
	ready bool

	// changes grows whenever an object comes, changes or goes, while the informer's store
	// is locked; but not if all go at once. What is to be of one moment is looked for after
	// it was read, and all of it if it is the same then.
	changes atomic.Uint64
}

// init makes it watch what an informer holds, once it is needed.
func (w *watchedInformer) init(informer cache.SharedIndexInformer, keys func(object any) []string) {
	w.informer, w.indexer, w.keys = informer, informer.GetIndexer(), keys
}

// start says whether the objects are indexed and their changes noticed.
func (w *watchedInformer) start() bool {
	w.once.Do(func() {
		err := w.informer.AddIndexers(cache.Indexers{indexName: func(object any) ([]string, error) {
			w.changes.Add(1)
			return w.keys(object), nil
		}})
		if w.ready = err == nil; !w.ready {
			klog.ErrorS(err, "RBAC's objects are not indexed, all of them are looked through")
		}
	})
	return w.ready
}

// unchangedSince says whether there was no change since there had been so many, nor did all objects go
// at once, of which one was there: none is given if it does not matter.
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
