// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package protected

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"kube-granular.dev/granular/protect"
	"kube-granular.dev/pkg/apis/authority"
	"kube-granular.dev/pkg/mirror"
	registry "kube-granular.dev/pkg/registry/authority"
)

// waitTimeout is how long a request waits until the server has read the protected attributes.
const waitTimeout = 5 * time.Second

// Protection is the state of the protected attributes on one server. UseInformers and SetKinds
// are called while the server is built, and Run once it has started.
type Protection struct {
	index *Index
	roles *Roles
	kinds registry.Kinds
	// ready is closed once the server knows all attributes, for callers that wait for that. known
	// is set to true at the same time, for callers that must not wait.
	ready chan struct{}
	known atomic.Bool
	// changes has an element if an attribute, role or binding has changed since the last read from
	// the channel, so that the status of an attribute may have to be written.
	changes chan struct{}
	// counts has the numbers of requests that attributes with mode Audit would have refused, as far
	// as they are not yet added to the statuses of these attributes.
	counts violationCounts
}

// New returns an empty Protection.
func New() *Protection {
	p := &Protection{ready: make(chan struct{}), changes: make(chan struct{}, 1), counts: violationCounts{of: map[name]int64{}}}
	p.index = NewIndex(func(string) *metav1.ObjectMeta { return nil })
	p.index.changed = p.notifyChange
	return p
}

// notifyChange puts an element into changes. It is called after a change of an attribute, a role or
// a binding.
func (p *Protection) notifyChange() {
	select {
	case p.changes <- struct{}{}:
	default: // the reader has not received the last change yet
	}
}

// Changes returns a channel that has an element if an attribute, role or binding has changed since
// the last read. Several changes can share one element. Only one goroutine may read from the
// channel.
func (p *Protection) Changes() <-chan struct{} { return p.changes }

// Attributes returns all attributes in no particular order. The caller must not modify them.
func (p *Protection) Attributes() []Attribute { return p.index.Attributes() }

// Roles returns the Roles of this server, which find out who holds a role.
func (p *Protection) Roles() *Roles { return p.roles }

// UseInformers reads namespaces, roles and bindings from informers, which must not have started.
func (p *Protection) UseInformers(factory informers.SharedInformerFactory) error {
	namespaces := factory.Core().V1().Namespaces()
	lister := namespaces.Lister()
	p.index.namespaces = func(name string) *metav1.ObjectMeta {
		namespace, err := lister.Get(name)
		if err != nil {
			return nil
		}
		return &namespace.ObjectMeta
	}
	changed := func(obj any) {
		if key, err := cache.DeletionHandlingObjectToName(obj); err == nil {
			p.index.NamespaceChanged(key.Name)
		}
	}
	_, err := namespaces.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: changed, UpdateFunc: func(_, obj any) { changed(obj) }, DeleteFunc: changed,
	})
	if err != nil {
		return fmt.Errorf("watch namespaces: %w", err)
	}
	if p.roles, err = NewRoles(factory.Rbac().V1()); err != nil {
		return err
	}
	rbac := factory.Rbac().V1()
	for _, informer := range []cache.SharedIndexInformer{
		rbac.Roles().Informer(), rbac.ClusterRoles().Informer(), rbac.RoleBindings().Informer(), rbac.ClusterRoleBindings().Informer(),
	} {
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { p.notifyChange() }, UpdateFunc: func(any, any) { p.notifyChange() }, DeleteFunc: func(any) { p.notifyChange() },
		})
		if err != nil {
			return fmt.Errorf("watch roles and bindings: %w", err)
		}
	}
	return nil
}

// SetKinds tells how the two kinds, ProtectedAttribute and ClusterProtectedAttribute, are read. A kind
// without a ListWatch protects nothing but what Observe reports, and nobody waits for it: a server
// that does not serve both kinds must not start.
func (p *Protection) SetKinds(kinds registry.Kinds) {
	p.kinds = kinds
	if kinds.Namespaced.ListWatch == nil && kinds.Cluster.ListWatch == nil {
		p.markReady()
	}
}

// Observe applies a change that a request to this server made: it has stored an attribute or, if gone
// is true, removed it. When Observe returns, Set includes the change.
func (p *Protection) Observe(a authority.Attribute, gone bool) { p.index.Observe(a, gone) }

// Run starts goroutines that read and watch the stored attributes until ctx ends. It returns nil
// once the server knows all attributes, and an error if ctx ends before. It reads both kinds at once.
func (p *Protection) Run(ctx context.Context) error {
	var runs []func(context.Context) error
	for i, kind := range [...]registry.Kind{namespaced: p.kinds.Namespaced, cluster: p.kinds.Cluster} {
		if kind.ListWatch == nil {
			continue
		}
		runs = append(runs, func(ctx context.Context) error {
			return p.index.kinds[i].Run(ctx, "protected", kind.ListWatch, kind.Example)
		})
	}
	if err := mirror.RunAll(ctx, runs...); err != nil {
		return err
	}
	if !cache.WaitForCacheSync(ctx.Done(), p.roles.synced...) {
		return errors.New("the server stopped before it had read the roles and bindings")
	}
	p.markReady()
	return nil
}

func (p *Protection) markReady() {
	if p.known.CompareAndSwap(false, true) {
		close(p.ready)
	}
}

// Set returns the entries of the attributes in force, and whether the server knows all attributes.
// If it does not, entries can be missing. Set does not allocate.
func (p *Protection) Set() (*protect.Set, bool) {
	known := p.known.Load()
	return p.index.Set(), known
}

// Wait waits until the server knows all attributes, at most waitTimeout. If the server does not
// know them by then, Wait returns an error that is meant for the client.
func (p *Protection) Wait(ctx context.Context) error {
	timeout := time.NewTimer(waitTimeout)
	defer timeout.Stop()
	select {
	case <-p.ready:
		return nil
	case <-ctx.Done():
	case <-timeout.C:
	}
	return apierrors.NewServiceUnavailable("the server has not read the protected labels and annotations yet")
}

// Holds reports whether a user is bound to the role that an attribute refers to. It does not matter
// whether the user holds the verbs of that role in another way.
func (p *Protection) Holds(ctx context.Context, u user.Info, ref protect.Reference) (bool, error) {
	if p.roles == nil || !p.known.Load() {
		return false, fmt.Errorf("the server has not read yet who holds %s", ref)
	}
	if ref.Kind != protect.Role && ref.Kind != protect.ClusterRole {
		return false, fmt.Errorf("%s is no role", ref)
	}
	return p.roles.Holds(ctx, u, ref)
}
