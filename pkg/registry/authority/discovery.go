// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authority

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"
	informers "k8s.io/kube-aggregator/pkg/client/informers/externalversions"
	"k8s.io/kube-aggregator/pkg/controllers/autoregister"
	controlplaneapiserver "k8s.io/kubernetes/pkg/controlplane/apiserver"

	"kube-granular.dev/api/authority/v1alpha1"
)

// Priority is the priority of the API group and its version in discovery. The group is listed after
// all of upstream's groups. The version is listed before any version that a
// CustomResourceDefinition adds to the group.
var Priority = controlplaneapiserver.APIServicePriority{Group: 15000, Version: 1000}

// apiServiceName is the name of the APIService of the API group.
var apiServiceName = v1alpha1.SchemeGroupVersion.Version + "." + v1alpha1.SchemeGroupVersion.Group

// retryInterval is the time between two attempts to create the APIService.
const retryInterval = time.Second

// apiService returns the APIService of the API group, as upstream builds those of its own groups.
// The label "onstart" means: when a server starts, it creates or updates the APIService once, or
// deletes the APIService if the server does not serve the group.
func apiService() *apiregistrationv1.APIService {
	return &apiregistrationv1.APIService{
		ObjectMeta: metav1.ObjectMeta{
			Name:   apiServiceName,
			Labels: map[string]string{autoregister.AutoRegisterManagedLabel: "onstart"},
		},
		Spec: apiregistrationv1.APIServiceSpec{
			Group:                v1alpha1.SchemeGroupVersion.Group,
			Version:              v1alpha1.SchemeGroupVersion.Version,
			GroupPriorityMinimum: Priority.Group,
			VersionPriority:      Priority.Version,
		},
	}
}

// keepAPIService creates the APIService of the API group again whenever it is deleted, until ctx
// ends. A server with the feature gate off deletes the APIService when it starts. Upstream's
// controller creates the APIService only when a server starts. So without keepAPIService, the
// servers with the feature gate on would no longer serve the group.
func keepAPIService(ctx context.Context, client clientset.Interface) error {
	missing := make(chan struct{}, 1)
	look := func() {
		select {
		case missing <- struct{}{}:
		default: // a recreation is pending
		}
	}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTweakListOptions(func(options *metav1.ListOptions) {
		options.FieldSelector = fields.OneTermEqualSelector("metadata.name", apiServiceName).String()
	}))
	informer := factory.Apiregistration().V1().APIServices().Informer()
	watched, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{DeleteFunc: func(any) { look() }})
	if err != nil {
		return err
	}
	go informer.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), watched.HasSynced) {
		return nil
	}
	look() // the APIService may have been deleted before the informer started
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-missing:
		}
		err := wait.PollUntilContextCancel(ctx, retryInterval, true, func(ctx context.Context) (bool, error) {
			_, err := client.ApiregistrationV1().APIServices().Create(ctx, apiService(), metav1.CreateOptions{})
			if err == nil || apierrors.IsAlreadyExists(err) {
				return true, nil
			}
			utilruntime.HandleErrorWithContext(ctx, fmt.Errorf("create APIService %s: %w", apiServiceName, err),
				"Failed to create the APIService of the API group, will retry")
			return false, nil
		})
		if err != nil {
			return nil // ctx has ended
		}
	}
}
