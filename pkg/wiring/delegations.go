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

// writeUses is how often the uses of delegations are written down that end without.
const writeUses = 5 * time.Second

// attach makes an index know namespaces, of informers that have not started.
func attach(index *delegation.Index, factory informers.SharedInformerFactory) {
	lister := factory.Core().V1().Namespaces().Lister()
	index.Namespace = func(name string) types.UID {
		if namespace, err := lister.Get(name); err == nil {
			return namespace.UID
		}
		return ""
	}
}

// follow makes an index know what is stored, until ctx ends. It returns once all is known.
func follow(ctx context.Context, index *delegation.Index, stored authorityregistry.Stored) error {
	reflector := cache.NewReflectorWithOptions(listed{stored.ListWatch}, &authority.AuthorityDelegation{}, index.Reflected(), cache.ReflectorOptions{Name: "kube-granular/delegations"})
	go reflector.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), index.Read) {
		return errors.New("the server ended before it knew which delegations there are")
	}
	go wait.UntilWithContext(ctx, func(ctx context.Context) {
		for d, at := range index.Idle() {
			if err := stored.Used(ctx, d.Name, at); err != nil {
				utilruntime.HandleErrorWithContext(ctx, err, "The use of a delegation was not written down", "name", d.Name)
			}
		}
	}, writeUses)
	return nil
}

// listed is a ListWatch that a reflector reads by a list, and then watches.
type listed struct{ *cache.ListWatch }

// IsWatchListSemanticsUnSupported makes a reflector read a list.
func (listed) IsWatchListSemanticsUnSupported() bool { return true }
