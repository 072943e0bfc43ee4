// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package rbacindex

import (
	"slices"
	"sync/atomic"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

// index finds bindings by subject. It is made when it is first needed.
type index struct {
	watchedInformer
	// subjects gives the namespace of a binding, empty for one that holds everywhere,
	// and whom it is about.
	subjects func(object any) (namespace string, subjects []rbacv1.Subject)
	// hasMany says that there was a binding with very many subjects.
	hasMany atomic.Bool
}

// init makes it an index of what an informer holds.
func (x *index) init(informer cache.SharedIndexInformer, subjects func(object any) (namespace string, of []rbacv1.Subject)) {
	x.subjects = subjects
	x.watchedInformer.init(informer, func(object any) []string {
		namespace, of := subjects(object)
		if len(of) > maxSubjects {
			x.hasMany.Store(true)
		}
		return subjectKeys(namespace, of)
	})
}

// maxAttempts is how often a caller is looked for while bindings change, before all of them are
// looked through.
const maxAttempts = 3

// bindingsFor lists the bindings that may be about who asks: those of a namespace, or where that
// is empty those that hold everywhere. It is not ok if there is no index, or if bindings
// change too often. What another question found is not looked for again; what was found
// earlier is, if bindings changed since.
//
// A caller is looked for once by name and once for each group, each under a lock of its own.
// While changes are the same, none of the looks missed a binding that was there all the time.
func bindingsFor[T bound](x *index, q *Query, namespace string, kept *bindingCache[T]) (of []T, ok bool) {
	if !x.start() {
		return nil, false
	}
	if kept != nil && kept.isCurrent(&x.watchedInformer) {
		return kept.bindings, true
	}
	for range maxAttempts {
		before := x.changes.Load()
		of, ok := lookUp[T](x, q, namespace)
		if !ok {
			return nil, false
		}
		if x.changes.Load() == before {
			if kept != nil {
				*kept = bindingCache[T]{valid: true, bindings: of, changes: before}
			}
			return of, true
		}
	}
	return nil, false
}

func lookUp[T bound](x *index, q *Query, namespace string) (of []T, ok bool) {
	if len(q.keys.ends) == 0 {
		q.keys = keysOfCaller(q.request.GetNamespace(), q.request.GetUser())
	}
	var listed bindingSet[T]
	add := func(key string) bool {
		found, err := x.indexer.ByIndex(indexName, key)
		of = slices.Grow(of, len(found))
		for _, object := range found {
			// RBAC takes it from the list that a binding is one of the namespace.
			binding, ok := object.(T)
			if !ok || binding.GetNamespace() != namespace {
				continue
			}
			// A caller may be several of the subjects, but each key is another subject.
			if _, subjects := x.subjects(object); len(subjects) == 1 || !listed.addIfNew(binding) {
				of = append(of, binding)
			}
		}
		return err == nil
	}
	for i := range q.keys.ends {
		if !add(q.keys.key(namespace == "", i)) {
			return nil, false
		}
	}
	return of, !x.hasMany.Load() || add(namespace+manySuffix)
}

type bound interface {
	comparable
	metav1.Object
}

// bindingSet is a set of bindings, most often a small one.
type bindingSet[T comparable] struct {
	few  [8]T
	n    int
	many map[T]bool
}

// addIfNew says whether this was asked about a binding before.
func (s *bindingSet[T]) addIfNew(b T) bool {
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
