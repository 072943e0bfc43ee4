// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"kube-granular.dev/pkg/fieldpermission"
)

// definitions finds custom resources. It keeps the metadata of all CustomResourceDefinitions, which says when a
// definition must be read again, and the whole definition only of resources with a FieldPermission.
type definitions struct {
	metadata cache.SharedIndexInformer
	read     func(ctx context.Context, name string) (*apiextensionsv1.CustomResourceDefinition, error)
	// known has the resources that were found, with the resource versions of their definitions. Only one
	// goroutine uses it.
	known map[string]knownResource
}

type knownResource struct {
	version  string
	resource *fieldpermission.Resource
}

// watchDefinitions watches the definitions until ctx ends. It notifies the index of changes of those whose
// resource has a FieldPermission.
func watchDefinitions(ctx context.Context, self *rest.Config, index *fieldpermission.Index) (*definitions, error) {
	client, err := metadata.NewForConfig(self)
	if err != nil {
		return nil, fmt.Errorf("make a client for metadata: %w", err)
	}
	whole, err := apiextensions.NewForConfig(self)
	if err != nil {
		return nil, fmt.Errorf("make a client for definitions: %w", err)
	}
	resource := apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")
	factory := metadatainformer.NewSharedInformerFactory(client, 0)
	informer := factory.ForResource(resource).Informer()
	changed := func(obj any) {
		if name, err := cache.DeletionHandlingObjectToName(obj); err == nil && index.Has(name.Name) {
			index.NotifyChange()
		}
	}
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: changed, UpdateFunc: func(_, obj any) { changed(obj) }, DeleteFunc: changed,
	}); err != nil {
		return nil, fmt.Errorf("watch definitions: %w", err)
	}
	factory.Start(ctx.Done())
	return &definitions{
		metadata: informer, known: map[string]knownResource{},
		read: func(ctx context.Context, name string) (*apiextensionsv1.CustomResourceDefinition, error) {
			return whole.ApiextensionsV1().CustomResourceDefinitions().Get(ctx, name, metav1.GetOptions{})
		},
	}, nil
}

func (d *definitions) waitForSync(done <-chan struct{}) bool {
	return cache.WaitForCacheSync(done, d.metadata.HasSynced)
}

// find returns a custom resource, or nil if there is none. It returns the same pointer as long as the
// definition does not change.
func (d *definitions) find(ctx context.Context, resource schema.GroupResource) (*fieldpermission.Resource, error) {
	name := resource.String()
	obj, found, err := d.metadata.GetStore().GetByKey(name)
	if err != nil || !found {
		delete(d.known, name)
		return nil, err
	}
	version := obj.(metav1.Object).GetResourceVersion()
	if known := d.known[name]; known.version == version {
		return known.resource, nil
	}
	crd, err := d.read(ctx, name)
	if apierrors.IsNotFound(err) {
		delete(d.known, name)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	d.known[name] = knownResource{crd.ResourceVersion, fieldpermission.CustomResource(crd)}
	return d.known[name].resource, nil
}
