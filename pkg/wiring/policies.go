// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package wiring

import (
	"context"
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
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/pkg/delegation"
	"kube-granular.dev/pkg/delegation/issue"
	"kube-granular.dev/pkg/delegation/policy"
	"kube-granular.dev/pkg/delegation/sweep"
	authorityregistry "kube-granular.dev/pkg/registry/authority"
)

// sweepInterval is how often a server removes delegations that no object needs any more.
const sweepInterval = time.Minute

// policyIssuer returns the issuer that creates the delegations which AuthorityDelegationPolicies
// require for an object that is written. All servers of the process share the issuer.
var policyIssuer = sync.OnceValue(func() *issue.PolicyIssuer {
	return &issue.PolicyIssuer{Policies: policy.NewIndex(), Issuer: &issue.Issuer{Delegations: delegations()}}
})

func policyIssuerOrNil() *issue.PolicyIssuer {
	if !delegationEnabled() {
		return nil
	}
	return policyIssuer()
}

// cachedRBAC returns functions that read roles and bindings from the informers of factory. It
// must be called before factory is started, because it adds these informers.
func cachedRBAC(factory informers.SharedInformerFactory) authorityselected.Policy {
	all := factory.Rbac().V1()
	return authorityselected.Policy{
		RoleGetter:               &rbac.RoleGetter{Lister: all.Roles().Lister()},
		RoleBindingLister:        &rbac.RoleBindingLister{Lister: all.RoleBindings().Lister()},
		ClusterRoleGetter:        &rbac.ClusterRoleGetter{Lister: all.ClusterRoles().Lister()},
		ClusterRoleBindingLister: &rbac.ClusterRoleBindingLister{Lister: all.ClusterRoleBindings().Lister()},
	}
}

// newPolicies returns the configuration for the storage of policies. It also sets two fields of
// the policy issuer (see policyIssuer) that only a server can provide: Issuer, which decides
// whether a delegation is allowed, and Labels, which reads the labels of a namespace.
func newPolicies(deciding *issue.Issuer, client kubernetes.Interface, factory informers.SharedInformerFactory) *authorityregistry.Policies {
	c := policyIssuer()
	c.Issuer = deciding
	lister := factory.Core().V1().Namespaces().Lister()
	c.Labels = func(ctx context.Context, name string) (labels.Set, error) {
		if namespace, err := lister.Get(name); err == nil {
			return namespace.Labels, nil
		}
		// The informer of this server does not have it yet.
		namespace, err := client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return namespace.Labels, nil
	}
	return &authorityregistry.Policies{Prepare: deciding.PreparePolicy, Observe: c.Policies.Observe}
}

// runSweeper starts a goroutine that removes delegations that no object needs any more, until ctx
// ends. It returns an error if the clients that the goroutine needs can't be made.
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
			utilruntime.HandleErrorWithContext(ctx, err, "Unused delegations were not removed")
		}
	}, sweepInterval, 0.5, false)
	return nil
}
