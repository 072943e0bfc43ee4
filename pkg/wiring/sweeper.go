// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package wiring

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/pkg/delegation"
	"kube-granular.dev/pkg/delegation/sweep"
	authorityregistry "kube-granular.dev/pkg/registry/authority"
)

// sweepInterval is how often a server removes delegations that no object needs any more.
const sweepInterval = time.Minute

// runSweeper starts a goroutine that removes delegations that no object needs any more, until ctx
// ends. It returns an error if the clients that the goroutine needs can't be made.
func runSweeper(ctx context.Context, index *delegation.Index, stored *authorityregistry.DelegationStorage, self *rest.Config) error {
	client, err := metadata.NewForConfig(self)
	if err != nil {
		return err
	}
	found, err := discovery.NewDiscoveryClientForConfig(self)
	if err != nil {
		return err
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(found))
	sweeper := sweep.Sweeper{
		Delegations: index, Now: time.Now,
		List: func(ctx context.Context, r schema.GroupResource, options metav1.ListOptions) (*metav1.PartialObjectMetadataList, error) {
			served, err := mapper.ResourceFor(r.WithVersion(""))
			if err != nil {
				return nil, err
			}
			return client.Resource(served).List(ctx, options)
		},
		Remove: func(ctx context.Context, d *v1alpha1.AuthorityDelegation) error {
			return stored.DeleteUnchanged(ctx, d)
		},
	}
	go wait.JitterUntilWithContext(ctx, func(ctx context.Context) {
		if _, err := sweeper.Sweep(ctx); err != nil {
			utilruntime.HandleErrorWithContext(ctx, err, "Unused delegations were not removed")
		}
	}, sweepInterval, 0.5, false)
	return nil
}
