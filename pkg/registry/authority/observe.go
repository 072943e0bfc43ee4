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

// Change is what a request to this server did to an attribute.
type Change struct {
	// Attribute is the attribute as it was stored, or as it last was if it is gone. It is the
	// observer's own copy.
	Attribute authority.Attribute
	// Gone reports whether it was removed from storage. An attribute that waits for its
	// finalizers is not gone: it protects as before, with a deletion timestamp.
	Gone bool
	// ResourceVersion orders changes of one object, those that a watch tells of included. It
	// is that of the removal if the attribute is gone.
	ResourceVersion uint64
}

// notifyHooks returns the hooks of a store that tell observe of every change, before the request
// that makes it is answered. Dry runs, for which the store calls its hooks as well, change
// nothing and are left out.
//
// A change that the storage made without the server learning of it, because the connection
// broke, is seen by a watch only.
func notifyHooks(observe func(Change)) (genericregistry.AfterCreateFunc, genericregistry.AfterUpdateFunc, genericregistry.AfterDeleteFunc) {
	tell := func(obj runtime.Object, dryRun []string, gone bool) {
		attribute, ok := obj.(authority.Attribute)
		if !ok || dryrun.IsDryRun(dryRun) {
			return
		}
		// Where no version is known the watch has the last word over version 0.
		version, _ := strconv.ParseUint(attribute.GetResourceVersion(), 10, 64)
		observe(Change{attribute.DeepCopyObject().(authority.Attribute), gone, version})
	}
	return func(obj runtime.Object, options *metav1.CreateOptions) { tell(obj, options.DryRun, false) },
		func(obj runtime.Object, options *metav1.UpdateOptions) { tell(obj, options.DryRun, false) },
		func(obj runtime.Object, options *metav1.DeleteOptions) { tell(obj, options.DryRun, true) }
}

// Kind is one of the two kinds, as the process of the server itself reads it.
type Kind struct {
	// Example is an empty object of the kind, in the form that ListWatch has.
	Example authority.Attribute
	// ListWatch lists and watches all objects, in all namespaces, in the registry's own
	// store. It uses no connection, no credentials, and no aggregator, and is there
	// before the server serves. What it yields are authority.Attributes.
	ListWatch *cache.ListWatch
}

// Kinds are both kinds of a server.
type Kinds struct{ Namespaced, Cluster Kind }

// reader is what of a store is read in process.
type reader interface {
	rest.Lister
	rest.Watcher
}

func newKind(k kind, store reader) Kind {
	return Kind{Example: k.newObject().(authority.Attribute), ListWatch: listWatch(store)}
}

// listWatch returns how the process itself reads all objects of a store.
func listWatch(store reader) *cache.ListWatch {
	// Without a namespace, and without a user: nobody's request.
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

// unwrap takes an object out of what the watch cache puts around it, so that it is
// encoded once for all who watch.
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
