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

// writeUsesInterval is how often the last uses of delegations with idleSeconds are written to
// storage.
const writeUsesInterval = 5 * time.Second

// useNamespaces makes an index of delegations read namespaces from informers, which must not have
// started.
func useNamespaces(index *delegation.Index, factory informers.SharedInformerFactory) {
	lister := factory.Core().V1().Namespaces().Lister()
	index.Namespace = func(name string) types.UID {
		if namespace, err := lister.Get(name); err == nil {
			return namespace.UID
		}
		return ""
	}
}

// runDelegations keeps an index of delegations up to date with storage until ctx ends. It returns
// once the index has all stored delegations.
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

// listThenWatch is a ListWatch that makes a reflector list the objects before it watches them.
type listThenWatch struct{ *cache.ListWatch }

// IsWatchListSemanticsUnSupported returns true, so that a reflector lists instead of streaming
// the list by a watch.
func (listThenWatch) IsWatchListSemanticsUnSupported() bool { return true }
