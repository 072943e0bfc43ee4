// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"context"
	"fmt"

	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/client-go/tools/cache"

	"kube-granular.dev/pkg/apis/authority"
)

// notify makes a store call observe with each object that it has stored or removed, before the request
// is answered, including the changes that the server makes on its own. A dry run does not get here.
// gone is true if the object was removed from storage. It is false for an object with a deletion
// timestamp that waits for its finalizers. The resource version of a removed object is that of the
// removal. observe must not modify or keep the object.
//
// If the connection to etcd breaks during a write, the server does not know whether the write
// succeeded. Then observe is not called. If it did succeed, a watch reports the change.
func notify[T metav1.Object](store *genericregistry.Store, observe func(object T, gone bool)) {
	store.Storage.Storage = notifyingStorage{store.Storage.Storage, func(obj runtime.Object, gone bool) {
		if object, ok := obj.(T); ok && object.GetUID() != "" {
			observe(object, gone)
		}
	}}
}

// notifyingStorage is a storage that calls notify after each successful change.
type notifyingStorage struct {
	storage.Interface
	notify func(obj runtime.Object, gone bool)
}

func (o notifyingStorage) Create(ctx context.Context, key string, obj, out runtime.Object, ttl uint64) error {
	err := o.Interface.Create(ctx, key, obj, out, ttl)
	if err == nil {
		o.notify(out, false)
	}
	return err
}

func (o notifyingStorage) Delete(
	ctx context.Context, key string, out runtime.Object, preconditions *storage.Preconditions,
	validate storage.ValidateObjectFunc, cached runtime.Object, options storage.DeleteOptions,
) error {
	err := o.Interface.Delete(ctx, key, out, preconditions, validate, cached, options)
	if err == nil {
		o.notify(out, true)
	}
	return err
}

func (o notifyingStorage) GuaranteedUpdate(
	ctx context.Context, key string, destination runtime.Object, ignoreNotFound bool,
	preconditions *storage.Preconditions, tryUpdate storage.UpdateFunc, cached runtime.Object,
) error {
	err := o.Interface.GuaranteedUpdate(ctx, key, destination, ignoreNotFound, preconditions, tryUpdate, cached)
	if err == nil {
		o.notify(destination, false)
	}
	return err
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
