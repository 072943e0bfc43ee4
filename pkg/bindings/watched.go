// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package bindings

import (
	"sync"
	"sync/atomic"

	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// indexName is that of the index in an informer.
const indexName = "granular.authorization.k8s.io/subject"

// watched is an informer whose changes are noticed. It is watched from when that is first
// needed.
type watched struct {
	informer cache.SharedIndexInformer
	// keys index the objects.
	keys func(object any) []string

	once  sync.Once
	ready bool

	// changes grows whenever an object comes, changes or goes, while the informer's store
	// is locked; but not if all go at once.
	changes atomic.Uint64
}

// watch says whether the objects are indexed and their changes noticed.
func (w *watched) watch() bool {
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

// moment is what the store of an informer held. As long as it is the same, nothing came,
// changed or went: where all can go at once, under the client feature AtomicFIFO, the store
// is of another version then.
type moment struct {
	changes uint64
	version string
}

// now is taken before anything is looked for that is to be of this moment.
func (w *watched) now() moment {
	return moment{w.changes.Load(), w.informer.GetIndexer().LastStoreSyncResourceVersion()}
}
