// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package protected

import (
	"fmt"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

// TestConcurrently holds that hooks of many requests, the watch and readers may run at the same
// time: each writer finds its own change in the set right after its hook has returned.
func TestConcurrently(t *testing.T) {
	p := New()
	namespaces := map[string]*metav1.ObjectMeta{}
	p.index.namespaces = func(name string) *metav1.ObjectMeta { return namespaces[name] }
	const writers, changes = 8, 200
	var version struct {
		sync.Mutex
		last int
		log  []func(cache.ReflectorStore) error
	}
	// store does what storage does with a change: it assigns a resource version, and reports the
	// change to the watch.
	store := func(namespace, key string, gone bool) int {
		version.Lock()
		defer version.Unlock()
		version.last++
		v := version.last
		version.log = append(version.log, func(w cache.ReflectorStore) error {
			defer reach(t, w, fmt.Sprint(v))
			if gone {
				return w.Delete(attribute(namespace, "a", key, v))
			}
			return w.Update(attribute(namespace, "a", key, v))
		})
		return v
	}
	done := make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		w, told := p.index.kinds[namespaced].ReflectorStore(), 0
		for ended := false; ; {
			version.Lock()
			next := version.log[told:]
			version.Unlock()
			for _, tell := range next {
				if err := tell(w); err != nil {
					t.Error(err)
				}
			}
			told += len(next)
			if ended && len(next) == 0 {
				return
			}
			select {
			case <-done:
				ended = true
			default:
				p.index.NamespaceChanged("n0")
			}
		}
	})
	var writing sync.WaitGroup
	for i := range writers {
		writing.Go(func() {
			namespace := fmt.Sprintf("n%d", i)
			for j := range changes {
				key, gone := fmt.Sprintf("k%d", j%5), j%3 == 2
				p.Observe(attribute(namespace, "a", key, store(namespace, key, gone)), gone)
				if set, _ := p.Set(); wanted(set, namespace, key) == gone {
					t.Errorf("%s: change %d is not in the set that its hook left", namespace, j)
					return
				}
			}
		})
	}
	writing.Wait()
	close(done)
	all.Wait()
	for i := range writers {
		for k := range 5 {
			namespace, key := fmt.Sprintf("n%d", i), fmt.Sprintf("k%d", k)
			// The last change of each writer is number 199. It stores the key k4.
			if set, _ := p.Set(); wanted(set, namespace, key) != (k == 4) {
				t.Errorf("at the end the key %s is protected in %s: %t", key, namespace, k != 4)
			}
		}
	}
	for i := range writers {
		if n := p.index.tombstones(fmt.Sprintf("n%d", i), "a"); n != 0 {
			t.Errorf("%d tombstones at the end in n%d", n, i)
		}
	}
}
