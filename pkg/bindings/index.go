// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package bindings

import (
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// indexName is that of the index in an informer.
const indexName = "granular.authorization.k8s.io/subject"

// index finds bindings by subject. It is made when it is first needed: where nobody
// asks for the verb granular there is none.
type index struct {
	informer cache.SharedIndexInformer
	// subjects gives the namespace of a binding, empty for one that holds everywhere,
	// and whom it is about.
	subjects func(object any) (namespace string, subjects []rbacv1.Subject)

	make sync.Once
	made bool
}

// ready says whether there is an index. Without one, all bindings are looked through.
func (x *index) ready() bool {
	x.make.Do(func() {
		err := x.informer.AddIndexers(cache.Indexers{indexName: func(object any) ([]string, error) {
			namespace, subjects := x.subjects(object)
			return subjectKeys(namespace, subjects), nil
		}})
		if x.made = err == nil; !x.made {
			klog.ErrorS(err, "Role bindings are not indexed by subject, granular requests look through all of them")
		}
	})
	return x.made
}

// about lists the bindings of a namespace that may be about a caller. One that names
// the caller and a group of the caller's is listed twice, which grants no more.
func about[T metav1.Object](x *index, caller user.Info, namespace string) ([]T, error) {
	var out []T
	for _, key := range callerKeys(namespace, caller) {
		found, err := x.informer.GetIndexer().ByIndex(indexName, key)
		if err != nil {
			return nil, err
		}
		for _, object := range found {
			// RBAC takes it from the list that a binding is one of the namespace.
			if binding, ok := object.(T); ok && binding.GetNamespace() == namespace {
				out = append(out, binding)
			}
		}
	}
	return out, nil
}

// A key is a namespace, whether the subject is a group, and its name. A service account
// is the user that it authenticates as.
const (
	userInfix  = "/user/"
	groupInfix = "/group/"
)

// callerKeys gives the keys of the subjects that a caller is.
func callerKeys(namespace string, caller user.Info) []string {
	groups := caller.GetGroups()
	out := make([]string, 1, 1+len(groups))
	out[0] = namespace + userInfix + caller.GetName()
	for _, group := range groups {
		out = append(out, namespace+groupInfix+group)
	}
	return out
}

// subjectKeys gives the keys of a binding: whoever RBAC finds it to be about has one of
// them (appliesToUser in k8s.io/kubernetes/pkg/registry/rbac/validation/rule.go).
func subjectKeys(namespace string, subjects []rbacv1.Subject) []string {
	out := make([]string, 0, len(subjects))
	for _, s := range subjects {
		switch s.Kind {
		case rbacv1.UserKind:
			out = append(out, namespace+userInfix+s.Name)
		case rbacv1.GroupKind:
			out = append(out, namespace+groupInfix+s.Name)
		case rbacv1.ServiceAccountKind:
			of := s.Namespace
			if of == "" {
				of = namespace
			}
			if of != "" {
				out = append(out, namespace+userInfix+serviceaccount.MakeUsername(of, s.Name))
			}
		}
	}
	return out
}
