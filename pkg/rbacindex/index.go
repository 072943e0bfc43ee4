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

// index finds bindings by their subjects. It is built when it is first used.
type index struct {
	watchedInformer
	// subjects returns the subjects of a binding, and its namespace, which is empty for a
	// cluster role binding.
	subjects func(object any) (namespace string, subjects []rbacv1.Subject)
	// hasMany is set once the informer has had a binding with more than maxSubjects subjects.
	hasMany atomic.Bool
}

// init sets the informer whose objects are indexed.
func (x *index) init(informer cache.SharedIndexInformer, subjects func(object any) (namespace string, subjectList []rbacv1.Subject)) {
	x.subjects = subjects
	x.watchedInformer.init(informer, func(object any) []string {
		namespace, subjectList := subjects(object)
		if len(subjectList) > maxSubjects {
			x.hasMany.Store(true)
		}
		return subjectKeys(namespace, subjectList)
	})
}

// maxAttempts is how often a lookup is tried if bindings change during each attempt. After the last
// attempt, RBAC lists all bindings instead.
const maxAttempts = 3

// bindingsFor returns all bindings that include the caller, and possibly others: those of a
// namespace, or the cluster role bindings if namespace is empty. It returns false if the index
// can't be used, or if bindings change during each of maxAttempts lookups. kept is the cached
// result of an earlier lookup, or nil. It is returned if no binding has changed since, and is
// replaced by the new result if bindings have changed.
//
// A lookup reads the index several times, once for the user name and once for each group, and
// locks it for each read alone. If the change counter is the same before and after the lookup,
// the lookup has missed no binding that existed throughout.
func bindingsFor[T bound](x *index, q *Query, namespace string, kept *bindingCache[T]) (of []T, ok bool) {
	if !x.start() {
		return nil, false
	}
	if kept != nil && kept.isCurrent(&x.watchedInformer) {
		return kept.bindings, true
	}
	for range maxAttempts {
		before := x.changes.Load()
		found, ok := lookUp[T](x, q, namespace)
		if !ok {
			return nil, false
		}
		if x.changes.Load() == before {
			if kept != nil {
				*kept = bindingCache[T]{valid: true, bindings: found, changes: before}
			}
			return found, true
		}
	}
	return nil, false
}

func lookUp[T bound](x *index, q *Query, namespace string) (bindings []T, ok bool) {
	if len(q.keys.ends) == 0 {
		q.keys = keysOfCaller(q.request.GetNamespace(), q.request.GetUser())
	}
	var listed bindingSet[T]
	add := func(key string) bool {
		found, err := x.indexer.ByIndex(indexName, key)
		bindings = slices.Grow(bindings, len(found))
		for _, object := range found {
			// RBAC does not check the namespace of the bindings that a lister returns.
			binding, ok := object.(T)
			if !ok || binding.GetNamespace() != namespace {
				continue
			}
			// Several subjects of one binding can match the caller, each by its own key.
			if _, subjects := x.subjects(object); len(subjects) == 1 || !listed.addIfNew(binding) {
				bindings = append(bindings, binding)
			}
		}
		return err == nil
	}
	for i := range q.keys.ends {
		if !add(q.keys.key(namespace == "", i)) {
			return nil, false
		}
	}
	return bindings, !x.hasMany.Load() || add(namespace+manySuffix)
}

type bound interface {
	comparable
	metav1.Object
}

// bindingSet is a set of bindings. It allocates a map only for more than eight bindings.
type bindingSet[T comparable] struct {
	few  [8]T
	n    int
	many map[T]bool
}

// addIfNew adds a binding and reports whether the set already had it.
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
	before := s.many[b]
	s.many[b] = true
	return before
}
