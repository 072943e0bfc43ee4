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
	// Attribute is the attribute as it was stored, or its last version if it was removed. The
	// function that gets the Change may modify it.
	Attribute authority.Attribute
	// Gone is true if the attribute was removed from storage. It is false for an attribute with
	// a deletion timestamp that waits for its finalizers, because that attribute still protects.
	Gone bool
	// ResourceVersion orders the changes of one attribute, including those that a watch reports.
	// For a removed attribute it is the version of the removal.
	ResourceVersion uint64
}

// notifyHooks returns the hooks of a store that report every change to observe before the
// request is answered. The store calls hooks for dry runs too, but the hooks do not report
// those.
//
// If the connection to etcd breaks during a write, the server may not know that the write
// succeeded. Then only a watch reports the change.
func notifyHooks(observe func(Change)) (genericregistry.AfterCreateFunc, genericregistry.AfterUpdateFunc, genericregistry.AfterDeleteFunc) {
	tell := func(obj runtime.Object, dryRun []string, gone bool) {
		attribute, ok := obj.(authority.Attribute)
		if !ok || dryrun.IsDryRun(dryRun) {
			return
		}
		// If there is no valid version, version is 0, so the watch takes precedence.
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
	// ListWatch lists and watches the objects of all namespaces in the registry's own store. It
	// needs no connection, credentials or aggregator, and works before the server serves
	// requests. Its objects implement authority.Attribute.
	ListWatch *cache.ListWatch
}

// Kinds are the two kinds of protected attributes. A kind that the server does not serve is
// empty.
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

// unwrap returns an event with the object itself, which the watch cache wraps so that it is
// encoded once for all watchers.
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
