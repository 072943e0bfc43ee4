// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package wiring

import (
	"context"
	"errors"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	authorityselected "k8s.io/apiserver/pkg/authorization/selected"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/pkg/apis/authority"
	"kube-granular.dev/pkg/delegation"
	"kube-granular.dev/pkg/delegation/policy"
	"kube-granular.dev/pkg/delegation/sweep"
	authorityregistry "kube-granular.dev/pkg/registry/authority"
	"kube-granular.dev/pkg/selected"
)

// sweepInterval is how often a server looks for delegations that nobody needs any more.
const sweepInterval = time.Minute

// policyIssuer is what writes to this process cause.
var policyIssuer = sync.OnceValue(func() *selected.PolicyIssuer {
	return &selected.PolicyIssuer{Policies: policy.NewIndex(), Issuer: &selected.Issuer{Delegations: delegations()}}
})

func policyIssuerOrNil() *selected.PolicyIssuer {
	if !delegationEnabled() {
		return nil
	}
	return policyIssuer()
}

// cachedRBAC returns what RBAC reads, of informers that have not started.
func cachedRBAC(factory informers.SharedInformerFactory) authorityselected.Policy {
	all := factory.Rbac().V1()
	return authorityselected.Policy{
		RoleGetter:               &rbac.RoleGetter{Lister: all.Roles().Lister()},
		RoleBindingLister:        &rbac.RoleBindingLister{Lister: all.RoleBindings().Lister()},
		ClusterRoleGetter:        &rbac.ClusterRoleGetter{Lister: all.ClusterRoles().Lister()},
		ClusterRoleBindingLister: &rbac.ClusterRoleBindingLister{Lister: all.ClusterRoleBindings().Lister()},
	}
}

// newPolicies makes a server keep policies, and writes cause what they say.
func newPolicies(deciding *selected.Issuer, client kubernetes.Interface, factory informers.SharedInformerFactory) *authorityregistry.Policies {
	c := policyIssuer()
	c.Issuer = deciding
	lister := factory.Core().V1().Namespaces().Lister()
	c.Labels = func(ctx context.Context, name string) (labels.Set, error) {
		if namespace, err := lister.Get(name); err == nil {
			return namespace.Labels, nil
		}
		// This server has not heard of it yet.
		namespace, err := client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return namespace.Labels, nil
	}
	return &authorityregistry.Policies{Prepare: deciding.PreparePolicy, Observe: c.Policies.Observe}
}

// runPolicies makes an index know the policies that are stored, until ctx ends. It returns
// once all are known.
func runPolicies(ctx context.Context, index *policy.Index, all *cache.ListWatch) error {
	reflector := cache.NewReflectorWithOptions(listThenWatch{all}, &authority.AuthorityDelegationPolicy{}, index.ReflectorStore(), cache.ReflectorOptions{Name: "kube-granular/policies"})
	go reflector.RunWithContext(ctx)
	select {
	case <-index.Synced():
		return nil
	case <-ctx.Done():
		return errors.New("the server ended before it knew which policies there are")
	}
}

// runSweeper removes delegations that nobody needs any more, until ctx ends.
func runSweeper(ctx context.Context, index *delegation.Index, stored authorityregistry.DelegationStorage, self *rest.Config) error {
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
			utilruntime.HandleErrorWithContext(ctx, err, "Delegations that nobody needs were not removed")
		}
	}, sweepInterval, 0.5, false)
	return nil
}
