// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"context"
	"fmt"
	"strconv"

	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/util/dryrun"
	"k8s.io/client-go/tools/cache"

	"kube-granular.dev/pkg/apis/authority"
)

// Change is a change of a protected attribute that a request to this server made.
type Change struct {
	// Attribute is a copy of the attribute as it was stored, or of the last version of an
	// attribute that was removed. Whoever receives the Change may modify this copy.
	Attribute authority.Attribute
	// Gone is true if the attribute was removed from storage. It is false for an attribute with
	// a deletion timestamp that waits for its finalizers, because that attribute still protects.
	Gone bool
	// ResourceVersion tells which of two changes of one attribute is newer, also in comparison
	// with changes that a watch reports. For a removed attribute it is the version of the removal.
	ResourceVersion uint64
}

// notifyHooks returns hooks for a store, which call observe with every change before the request is
// answered. The store calls the hooks for dry runs too, but then they do not call observe.
//
// If the connection to etcd breaks during a write, the server does not know whether the write
// succeeded. Then the hooks report nothing. If it did succeed, a watch reports the change.
func notifyHooks(observe func(Change)) (genericregistry.AfterCreateFunc, genericregistry.AfterUpdateFunc, genericregistry.AfterDeleteFunc) {
	tell := func(obj runtime.Object, dryRun []string, gone bool) {
		attribute, ok := obj.(authority.Attribute)
		if !ok || dryrun.IsDryRun(dryRun) {
			return
		}
		// Without a valid version, version is 0, which is older than anything a watch reports.
		version, _ := strconv.ParseUint(attribute.GetResourceVersion(), 10, 64)
		observe(Change{attribute.DeepCopyObject().(authority.Attribute), gone, version})
	}
	return func(obj runtime.Object, options *metav1.CreateOptions) { tell(obj, options.DryRun, false) },
		func(obj runtime.Object, options *metav1.UpdateOptions) { tell(obj, options.DryRun, false) },
		func(obj runtime.Object, options *metav1.DeleteOptions) { tell(obj, options.DryRun, true) }
}

// Kind lets code in this process read one kind of protected attribute.
type Kind struct {
	// Example is an empty object of the type that ListWatch returns.
	Example authority.Attribute
	// ListWatch lists and watches the objects of all namespaces directly in the storage of this
	// server. It needs no connection, credentials or aggregator, and works before the server
	// serves requests. The objects implement authority.Attribute.
	ListWatch *cache.ListWatch
}

// Kinds are the two kinds of protected attributes. For a kind that the server does not serve, the
// Kind is the zero value.
type Kinds struct{ Namespaced, Cluster Kind }

// reader is the part of a store that listWatch needs.
type reader interface {
	rest.Lister
	rest.Watcher
}

func newKind(k kind, store reader) Kind {
	return Kind{Example: k.newObject().(authority.Attribute), ListWatch: listWatch(store)}
}

// listWatch returns a ListWatch of all objects of a store, for use in this process.
func listWatch(store reader) *cache.ListWatch {
	// The context has no namespace and no user, because there is no request.
	all := func(ctx context.Context) context.Context {
		return genericapirequest.WithNamespace(ctx, metav1.NamespaceAll)
	}
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			internal, err := internalOptions(options)
			if err != nil {
				return nil, err
			}
			return store.List(all(ctx), internal)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			internal, err := internalOptions(options)
			if err != nil {
				return nil, err
			}
			w, err := store.Watch(all(ctx), internal)
			if err != nil {
				return nil, err
			}
			return watch.Filter(w, unwrap), nil
		},
	}
}

// unwrap returns an event with the object itself. The watch cache wraps objects in another type, so
// that each object is encoded only once for all watchers.
func unwrap(event watch.Event) (watch.Event, bool) {
	if wrapped, ok := event.Object.(runtime.CacheableObject); ok {
		event.Object = wrapped.GetObject()
	}
	return event, true
}

func internalOptions(options metav1.ListOptions) (*metainternalversion.ListOptions, error) {
	out := &metainternalversion.ListOptions{}
	if err := metainternalversion.Convert_v1_ListOptions_To_internalversion_ListOptions(&options, out, nil); err != nil {
		return nil, fmt.Errorf("list in process: %w", err)
	}
	return out, nil
}
