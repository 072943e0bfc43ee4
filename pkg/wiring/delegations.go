// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package wiring

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"

	"kube-granular.dev/pkg/delegation"
	authorityregistry "kube-granular.dev/pkg/registry/authority"
)

// writeUsesInterval is how often a server writes to storage when delegations were last used. It
// writes that only for delegations with idleSeconds, which end if nobody uses them for so long.
const writeUsesInterval = 5 * time.Second

// useNamespaces makes an index of delegations look up the UIDs of namespaces in the informers of
// factory. It must be called before factory is started, because it adds the namespace informer.
func useNamespaces(index *delegation.Index, factory informers.SharedInformerFactory) {
	lister := factory.Core().V1().Namespaces().Lister()
	index.Namespace = func(name string) types.UID {
		if namespace, err := lister.Get(name); err == nil {
			return namespace.UID
		}
		return ""
	}
}

// useAccounts makes an index of delegations look up service accounts in the informers of factory, and
// in storage if an informer is behind. Like useNamespaces, it must be called before factory is started.
func useAccounts(index *delegation.Index, factory informers.SharedInformerFactory, client kubernetes.Interface) {
	lister := factory.Core().V1().ServiceAccounts().Lister()
	index.Accounts = delegation.NewAccounts(func(namespace, name string) types.UID {
		if account, err := lister.ServiceAccounts(namespace).Get(name); err == nil {
			return account.UID
		}
		return ""
	}, func(ctx context.Context, namespace, name string) (types.UID, error) {
		account, err := client.CoreV1().ServiceAccounts(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		return account.UID, nil
	})
}

// runDelegations waits until an index of delegations contains all stored delegations. From then
// on goroutines keep the index up to date with storage, and write to storage when delegations
// were last used, until ctx ends. It returns an error if ctx ends before the index is complete.
func runDelegations(ctx context.Context, index *delegation.Index, stored authorityregistry.DelegationStorage) error {
	if err := index.Run(ctx, stored.ListWatch); err != nil {
		return err
	}
	go wait.UntilWithContext(ctx, func(ctx context.Context) {
		for d, at := range index.UnwrittenUses() {
			if err := stored.WriteUse(ctx, d.Name, at); err != nil {
				utilruntime.HandleErrorWithContext(ctx, err, "The last use of a delegation was not written", "name", d.Name)
			}
		}
	}, writeUsesInterval)
	return nil
}
