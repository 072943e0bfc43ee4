// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package wiring

import (
	"context"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	authorityselected "k8s.io/apiserver/pkg/authorization/selected"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"
	controlplaneapiserver "k8s.io/kubernetes/pkg/controlplane/apiserver"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/pkg/delegation"
	"kube-granular.dev/pkg/delegation/issue"
	"kube-granular.dev/pkg/delegation/policy"
	"kube-granular.dev/pkg/features"
	"kube-granular.dev/pkg/metrics"
	"kube-granular.dev/pkg/mirror"
	authorityregistry "kube-granular.dev/pkg/registry/authority"
)

// writeUsesInterval is how often a server writes to storage when delegations were last used. It
// writes that only for delegations with idleSeconds, which end if nobody uses them for so long.
const writeUsesInterval = 5 * time.Second

// ending is how long before its end a delegation counts as ending in the metrics.
const ending = time.Hour

var registeredDelegations sync.Once

// registerDelegationMetrics registers the metrics of delegations. Like that of registerMetrics, only the first
// call has an effect: the servers of a process share one index.
func registerDelegationMetrics(index *delegation.Index) {
	registeredDelegations.Do(func() {
		metrics.RegisterDelegations(func() *metrics.Delegations {
			if !index.HasSynced() {
				return nil
			}
			counts := metrics.Delegations(index.Counts(ending))
			return &counts
		})
	})
}

// delegating is what one server has for delegations and their policies. It is complete when it is made.
type delegating struct {
	shared     *shared
	client     kubernetes.Interface
	namespaces corev1listers.NamespaceLister
	accounts   corev1listers.ServiceAccountLister
	// issuer decides what may be delegated.
	issuer   *issue.Issuer
	policies *policy.Index
}

// newDelegating returns the delegating of a server. It must be called before the informers of config
// are started, because it adds some.
func newDelegating(s *shared, config controlplaneapiserver.CompletedConfig, client kubernetes.Interface) *delegating {
	core := config.VersionedInformers.Core().V1()
	// The informers have not started, so this can't fail.
	utilruntime.Must(s.bound.Connect(core.ServiceAccounts().Informer()))
	return &delegating{
		shared: s, client: client, namespaces: core.Namespaces().Lister(), accounts: core.ServiceAccounts().Lister(),
		policies: policy.NewIndex(),
		issuer: &issue.Issuer{
			Delegations: s.delegations, Authorizer: config.Generic.Authorization.Authorizer, Client: client,
			Cached: cachedRBAC(config.VersionedInformers), Now: time.Now,
		},
	}
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

// provideTo makes a provider serve delegations and policies.
func (d *delegating) provideTo(provider *authorityregistry.Provider) {
	index := d.shared.delegations
	provider.Delegations = &authorityregistry.Delegations{
		Prepare: d.issuer.PrepareDelegation, Observe: index.Observe, WaitForCommits: index.WaitForCommits, Problems: d.problems,
		ConfirmOwn: d.issuer.ConfirmOwn, Bound: d.shared.bound.Account,
	}
	provider.Policies = &authorityregistry.Policies{Prepare: d.issuer.PreparePolicy, Observe: d.policies.Observe}
}

// problems returns what the status of a delegation reports as problems.
func (d *delegating) problems(obj *v1alpha1.AuthorityDelegation) []string {
	out := d.shared.delegations.Problems(obj)
	if account := d.shared.bound.Account(obj.UID); account != "" {
		out = append(out, d.issuer.Ambient(account)...)
	}
	return out
}

// use connects the index of delegations and the issuer with what the server has opened. Until then, the
// server refuses all writes of users. It returns what reads the stored delegations and policies.
func (d *delegating) use(opened authorityregistry.Opened) (authorityregistry.Run, error) {
	stored, policies := opened.Delegations, opened.Policies
	switch {
	case stored == nil:
		return nil, turnedOff(features.AuthorityDelegation, v1alpha1.Resource("authoritydelegations"))
	case policies == nil:
		return nil, turnedOff(features.AuthorityDelegation, v1alpha1.Resource("authoritydelegationpolicies"))
	}
	d.shared.delegations.Connect(delegation.Sources{
		Namespace: d.namespaceUID, Get: stored.Get, Accounts: delegation.NewAccounts(d.knownAccount, d.readAccount),
	})
	d.shared.policies.Store(&issue.PolicyIssuer{
		Policies: d.policies, Issuer: d.issuer, Labels: d.namespaceLabels, Create: stored.Create, Renew: stored.Renew,
		Bound: d.shared.bound,
	})
	return func(ctx context.Context, self *rest.Config) error {
		err := mirror.RunAll(ctx,
			func(ctx context.Context) error { return runDelegations(ctx, d.shared.delegations, stored) },
			func(ctx context.Context) error { return d.policies.Run(ctx, policies) })
		if err != nil {
			return err
		}
		return runSweeper(ctx, d.shared.delegations, stored, self)
	}, nil
}

// namespaceUID returns the UID of a namespace, or "" if the informer does not have it.
func (d *delegating) namespaceUID(name string) types.UID {
	if namespace, err := d.namespaces.Get(name); err == nil {
		return namespace.UID
	}
	return ""
}

// namespaceLabels returns the labels of a namespace, from storage if the informer does not have it yet.
func (d *delegating) namespaceLabels(ctx context.Context, name string) (labels.Set, error) {
	if namespace, err := d.namespaces.Get(name); err == nil {
		return namespace.Labels, nil
	}
	namespace, err := d.client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return namespace.Labels, nil
}

// knownAccount returns the UID of a service account, or "" if the informer does not have it.
func (d *delegating) knownAccount(namespace, name string) types.UID {
	if account, err := d.accounts.ServiceAccounts(namespace).Get(name); err == nil {
		return account.UID
	}
	return ""
}

// readAccount returns the UID of a service account in storage.
func (d *delegating) readAccount(ctx context.Context, namespace, name string) (types.UID, error) {
	account, err := d.client.CoreV1().ServiceAccounts(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	return account.UID, nil
}

// runDelegations waits until an index of delegations contains all stored delegations. From then
// on goroutines keep the index up to date with storage, and write to storage when delegations
// were last used, until ctx ends. It returns an error if ctx ends before the index is complete.
func runDelegations(ctx context.Context, index *delegation.Index, stored *authorityregistry.DelegationStorage) error {
	if err := index.Run(ctx, stored.ListWatch); err != nil {
		return err
	}
	go wait.UntilWithContext(ctx, func(ctx context.Context) {
		for d, moment := range index.UnwrittenUses() {
			if err := stored.WriteUse(ctx, d.Name, moment); err != nil {
				utilruntime.HandleErrorWithContext(ctx, err, "The last use of a delegation was not written", "name", d.Name)
			}
		}
	}, writeUsesInterval)
	return nil
}
