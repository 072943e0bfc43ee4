// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package bindings

import (
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
	// is locked. A caller is looked for once by name and once for each group, each under a
	// lock of its own; as long as this is the same, all of them saw the same bindings.
	changes atomic.Uint64
}

// ready says whether there is an index. Without one, all bindings are looked through.
func (x *index) ready() bool {
	x.make.Do(func() {
		err := x.informer.AddIndexers(cache.Indexers{indexName: func(object any) ([]string, error) {
			x.changes.Add(1)
			namespace, subjects := x.subjects(object)
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
// is empty those that hold everywhere. One that names the caller and a group of the
// caller's is listed twice, which grants no more. It finds none if there is no index, if
// it is of another namespace than the question, or if bindings change too often.
func about[T metav1.Object](x *index, a *asking, namespace string) (list []T, found bool) {
	if a == nil || namespace != "" && namespace != a.keys.namespace || !x.ready() {
		return nil, false
	}
	for range looks {
		before := x.changes.Load()
		list, ok := look[T](x, a, namespace)
		if !ok {
			return nil, false
		}
		if x.changes.Load() == before {
			return list, true
		}
	}
	return nil, false
}

func look[T metav1.Object](x *index, a *asking, namespace string) (list []T, ok bool) {
	for i := range a.keys.len() {
		found, err := x.informer.GetIndexer().ByIndex(indexName, a.keys.in(namespace == "", i))
		if err != nil {
			return nil, false
		}
		for _, object := range found {
			// RBAC takes it from the list that a binding is one of the namespace.
			if binding, ok := object.(T); ok && binding.GetNamespace() == namespace {
				list = append(list, binding)
			}
		}
	}
	return list, true
}
