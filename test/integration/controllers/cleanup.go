// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/controller-manager/pkg/informerfactory"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
	"k8s.io/kubernetes/pkg/controller/namespace"
)

// discoveryInterval is the time between two looks of the garbage collector for new kinds.
const discoveryInterval = time.Second

// RunCleanup starts upstream's garbage collector and its namespace controller, which empties
// deleted namespaces. They run until ctx ends.
func RunCleanup(ctx context.Context, config *rest.Config) error {
	emptier, collector := As(config, "namespace-controller"), As(config, "generic-garbage-collector")
	clients := func(config *rest.Config) (*kubernetes.Clientset, metadata.Interface, error) {
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			return nil, nil, err
		}
		objects, err := metadata.NewForConfig(config)
		return client, objects, err
	}
	client, objects, err := clients(emptier)
	if err != nil {
		return err
	}
	shared := informers.NewSharedInformerFactory(client, 0)
	namespaces := namespace.NewNamespaceController(ctx, client, objects, client.Discovery().ServerPreferredNamespacedResources,
		shared.Core().V1().Namespaces(), time.Minute, corev1.FinalizerKubernetes)

	collecting, graph, err := clients(collector)
	if err != nil {
		return err
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(collecting.Discovery()))
	everything := metadatainformer.NewSharedInformerFactory(graph, 0)
	typed := informers.NewSharedInformerFactory(collecting, 0)
	started := make(chan struct{})
	garbage, err := garbagecollector.NewGarbageCollector(ctx, collecting, graph, mapper,
		garbagecollector.DefaultIgnoredResources(), informerfactory.NewInformerFactory(typed, everything), started)
	if err != nil {
		return fmt.Errorf("make the garbage collector: %w", err)
	}
	for _, f := range []interface{ Start(<-chan struct{}) }{shared, typed, everything} {
		f.Start(ctx.Done())
	}
	close(started)
	go namespaces.Run(ctx, workers)
	go garbage.Run(ctx, workers, 10*time.Second)
	go garbage.Sync(ctx, collecting.Discovery(), discoveryInterval)
	return nil
}
