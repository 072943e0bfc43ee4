// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package wiring

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"kube-granular.dev/pkg/apis/authority"
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

// runDelegations waits until an index of delegations contains all stored delegations. From then
// on goroutines keep the index up to date with storage, and write to storage when delegations
// were last used, until ctx ends. It returns an error if ctx ends before the index is complete.
func runDelegations(ctx context.Context, index *delegation.Index, stored authorityregistry.DelegationStorage) error {
	reflector := cache.NewReflectorWithOptions(listThenWatch{stored.ListWatch}, &authority.AuthorityDelegation{}, index.ReflectorStore(), cache.ReflectorOptions{Name: "kube-granular/delegations"})
	go reflector.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), index.HasSynced) {
		return errors.New("the server stopped before it had read the delegations")
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

// listThenWatch is a ListWatch that makes a reflector get the existing objects from a list, and
// only later changes from a watch.
type listThenWatch struct{ *cache.ListWatch }

// IsWatchListSemanticsUnSupported returns true. So a reflector does not get the existing objects
// from a watch (a streaming list).
func (listThenWatch) IsWatchListSemanticsUnSupported() bool { return true }
