// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package bindings

import (
	"slices"
	"sync"
	"sync/atomic"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// indexName is that of the index in an informer.
const indexName = "granular.authorization.k8s.io/subject"

// index finds bindings by subject. It is made when it is first needed.
type index struct {
	informer cache.SharedIndexInformer
	// subjects gives the namespace of a binding, empty for one that holds everywhere,
	// and whom it is about.
	subjects func(object any) (namespace string, subjects []rbacv1.Subject)

	make sync.Once
	made bool

	// changes grows whenever a binding comes, changes or goes, while the informer's store
	// is locked; but not if all go at once. A caller is looked for once by name and once
	// for each group, each under a lock of its own; as long as this is the same, none of
	// them missed a binding that was there all the time.
	changes atomic.Uint64
	// many says that there was a binding with very many subjects.
	many atomic.Bool
}

// ready says whether there is an index. Without one, all bindings are looked through.
func (x *index) ready() bool {
	x.make.Do(func() {
		err := x.informer.AddIndexers(cache.Indexers{indexName: func(object any) ([]string, error) {
			x.changes.Add(1)
			namespace, subjects := x.subjects(object)
			if len(subjects) > maxSubjects {
				x.many.Store(true)
			}
			return subjectKeys(namespace, subjects), nil
		}})
		if x.made = err == nil; !x.made {
			klog.ErrorS(err, "Role bindings are not indexed by subject, all of them are looked through")
		}
	})
	return x.made
}

// looks is how often a caller is looked for while bindings change, before all of them are
// looked through.
const looks = 3

// about lists the bindings that may be about who asks: those of a namespace, or where that
// is empty those that hold everywhere. It is not ok if there is no index, or if bindings
// change too often. What another question found is not looked for again.
func about[T bound](x *index, a *asking, namespace string, kept *list[T]) (of []T, ok bool) {
	if kept.known {
		return kept.of, true
	}
	if !x.ready() {
		return nil, false
	}
	for range looks {
		before := x.changes.Load()
		of, ok := look[T](x, a, namespace)
		if !ok {
			return nil, false
		}
		if x.changes.Load() == before {
			if a.several {
				*kept = list[T]{true, of}
			}
			return of, true
		}
	}
	return nil, false
}

func look[T bound](x *index, a *asking, namespace string) (of []T, ok bool) {
	if len(a.keys.ends) == 0 {
		a.keys = keysOf(a.about.GetNamespace(), a.about.GetUser())
	}
	var listed seen[T]
	add := func(key string) bool {
		found, err := x.informer.GetIndexer().ByIndex(indexName, key)
		of = slices.Grow(of, len(found))
		for _, object := range found {
			// RBAC takes it from the list that a binding is one of the namespace.
			binding, ok := object.(T)
			if !ok || binding.GetNamespace() != namespace {
				continue
			}
			// A caller may be several of the subjects, but each key is another subject.
			if _, subjects := x.subjects(object); len(subjects) == 1 || !listed.before(binding) {
				of = append(of, binding)
			}
		}
		return err == nil
	}
	for i := range a.keys.ends {
		if !add(a.keys.in(namespace == "", i)) {
			return nil, false
		}
	}
	return of, !x.many.Load() || add(namespace+manySuffix)
}

type bound interface {
	comparable
	metav1.Object
}

// seen is a set of bindings, most often a small one.
type seen[T comparable] struct {
	few  [8]T
	n    int
	many map[T]bool
}

// before says whether this was asked about a binding before.
func (s *seen[T]) before(b T) bool {
	if s.many == nil {
		if slices.Contains(s.few[:s.n], b) {
			return true
		}
		if s.n < len(s.few) {
			s.few[s.n] = b
			s.n++
			return false
		}
		s.many = map[T]bool{}
		for _, b := range s.few {
			s.many[b] = true
		}
	}
	was := s.many[b]
	s.many[b] = true
	return was
}
