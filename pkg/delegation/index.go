// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/util/flowcontrol"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/pkg/apis/authority"
	"kube-granular.dev/pkg/mirror"
)

// Index holds the AuthorityDelegations that this server knows.
type Index struct {
	// mu guards stored and byName.
	mu     sync.RWMutex
	stored *mirror.Mirror[types.UID, *authority.AuthorityDelegation, Delegation]
	// byName has the newest delegation of each name. Others of the same name were removed, but this
	// server does not know about the removals yet.
	byName map[string]*Delegation
	// count is the number of delegations. It is read without mu.
	count atomic.Int64
	// commits is read-locked by each write from its final check until its object is stored.
	commits sync.RWMutex

	sources atomic.Pointer[Sources]
	// readLimiter limits how often Get is called for unknown names.
	readLimiter flowcontrol.RateLimiter
	// now is time.Now, except in tests.
	now func() time.Time
}

// Sources are where an Index looks up what it does not hold itself.
type Sources struct {
	// Namespace returns the UID of a namespace, or "" if the namespace is not known. If it is nil, no
	// namespace is known.
	Namespace func(name string) types.UID
	// Get reads a delegation from storage. If it is nil, delegations with unknown names are not
	// looked up there.
	Get func(ctx context.Context, name string) (*v1alpha1.AuthorityDelegation, error)
	// Accounts finds out whether the service accounts that created delegations still exist. If it is
	// nil, all count as existing.
	Accounts *Accounts
}

// The rate and burst at which delegations with unknown names are read from storage. Such a read
// is needed if another server has just created the delegation.
const (
	readsPerSecond = 20
	readsAtOnce    = 100
)

// NewIndex returns an empty index without sources.
func NewIndex() *Index {
	x := &Index{
		byName:      map[string]*Delegation{},
		readLimiter: flowcontrol.NewTokenBucketRateLimiter(readsPerSecond, readsAtOnce),
		now:         time.Now,
	}
	x.stored = mirror.New(&x.mu, mirror.Kind[types.UID, *authority.AuthorityDelegation, Delegation]{
		Key: func(d *authority.AuthorityDelegation) types.UID { return d.UID },
		Compile: func(d *authority.AuthorityDelegation, version uint64, old *Delegation) *Delegation {
			return compile((*v1alpha1.AuthorityDelegation)(d).DeepCopy(), version, old)
		},
		OnChange: x.update,
	})
	x.Connect(Sources{})
	return x
}

// Connect replaces all sources of the index.
func (x *Index) Connect(s Sources) {
	if s.Namespace == nil {
		s.Namespace = func(string) types.UID { return "" }
	}
	x.sources.Store(&s)
}

// NamespaceUID returns the UID of a namespace, or "" if the namespace is not known.
func (x *Index) NamespaceUID(name string) types.UID { return x.sources.Load().Namespace(name) }

// Chain returns the chain of the delegation with the given name, UID, or both. It returns a
// Refusal if a delegation of the chain is unknown, or if the caller can't use the chain. If the
// chain is known but can't be used, both results are set. A caller who is not a delegate gets the
// same message as for a delegation that does not exist.
func (x *Index) Chain(ctx context.Context, name string, uid types.UID, caller user.Info) (*Chain, *Refusal) {
	c := x.chain(name, uid)
	if c == nil && x.fetchChain(ctx, name, uid) {
		c = x.chain(name, uid)
	}
	unknown := fmt.Sprintf("AuthorityDelegation %s does not exist, the caller is not a delegate of it, one of its ancestors was deleted, or this server does not know it yet", quoteNameOrUID(name, uid))
	switch {
	case c == nil:
		return nil, refuse(NotFound, unknown)
	case !c.Leaf().isDelegate(caller):
		return c, refuse(NotDelegate, unknown)
	}
	if refusal := c.checkValid(caller); refusal != nil {
		return c, refusal
	}
	return c, c.checkAccounts(ctx)
}

func quoteNameOrUID(name string, uid types.UID) string {
	if name == "" {
		return fmt.Sprintf("with the UID %q", uid)
	}
	return fmt.Sprintf("%q", name)
}

// chain returns the chain of a delegation, or nil if a delegation of the chain is unknown.
func (x *Index) chain(name string, uid types.UID) *Chain {
	x.mu.RLock()
	defer x.mu.RUnlock()
	leaf := x.byName[name]
	if uid != "" {
		leaf = x.stored.Get(uid)
	}
	if leaf == nil || name != "" && leaf.Name != name {
		return nil
	}
	c := &Chain{index: x}
	for _, e := range leaf.History {
		if e.Via != v1alpha1.ViaDelegation {
			continue
		}
		link := x.stored.Get(e.UID)
		if link == nil {
			return nil
		}
		c.Links = append(c.Links, link)
	}
	if len(c.Links) >= v1alpha1.MaxChain {
		return nil
	}
	c.Links = append(c.Links, leaf)
	return c
}

// fetchChain reads the delegation with a name from storage, because another server can have created
// it a moment ago. It also reads those of its ancestors that this server does not know. It reports
// whether the delegation and all its ancestors were found. It returns false without a name, because
// storage can't be read by UID.
func (x *Index) fetchChain(ctx context.Context, name string, uid types.UID) bool {
	if name == "" || x.sources.Load().Get == nil {
		return false
	}
	x.mu.RLock()
	gone := x.stored.Tombstone(uid) > 0
	x.mu.RUnlock()
	if gone {
		return false
	}
	d := x.fetchOne(ctx, name)
	if d == nil || uid != "" && d.UID != uid {
		return false
	}
	for _, e := range d.Status.History {
		x.mu.RLock()
		known := x.stored.Get(e.UID) != nil
		x.mu.RUnlock()
		if e.Via == v1alpha1.ViaDelegation && !known && x.fetchOne(ctx, e.Name) == nil {
			return false
		}
	}
	return true
}

func (x *Index) fetchOne(ctx context.Context, name string) *v1alpha1.AuthorityDelegation {
	if !x.readLimiter.TryAccept() {
		return nil
	}
	d, err := x.sources.Load().Get(ctx, name)
	if err != nil {
		return nil
	}
	x.Observe(d, false)
	return d
}

// checkValid returns why a delegation is not valid at the time now, or nil if it is. It does not
// check whether the ancestors of the delegation are valid. what names the delegation in the message.
func (x *Index) checkValid(d *Delegation, now time.Time, what string) *Refusal {
	switch {
	case d.deleting:
		return refuse(NotFound, fmt.Sprintf("%s is being deleted", what))
	case !d.Until.IsZero() && !now.Before(d.Until):
		return refuse(Expired, fmt.Sprintf("%s has expired", what))
	case d.idle > 0 && now.Sub(time.Unix(0, d.usage.lastUsed.Load())) >= d.idle:
		return refuse(Idle, fmt.Sprintf("%s has expired because it was not used", what))
	case d.scope.Namespace != "" && (d.namespaceUID == "" || x.NamespaceUID(d.scope.Namespace) != d.namespaceUID):
		return refuse(NamespaceGone, fmt.Sprintf("the namespace of %s was deleted", what))
	}
	return nil
}

// RecheckAll returns why a chain that could be used earlier can't be used now, or nil if it still
// can. Unlike Recheck, it may read from storage.
func (c *Chain) RecheckAll(ctx context.Context, caller user.Info) *Refusal {
	if refusal := c.Recheck(caller); refusal != nil {
		return refusal
	}
	return c.checkAccounts(ctx)
}

// Recheck returns why a chain that was valid earlier is not valid now, or nil if it still is. It does
// not check accounts.
func (c *Chain) Recheck(caller user.Info) *Refusal {
	leaf := c.Leaf()
	now := c.index.chain(leaf.Name, leaf.UID)
	if now == nil {
		return refuse(NotFound, fmt.Sprintf("%s, or one of its ancestors, was deleted", describe(leaf)))
	}
	return now.checkValid(caller)
}

// WaitForCommits waits until all writes that passed their final check before the call are stored
// or have failed. A request that changes a delegation calls it after the change and before the
// response, so that after the response nothing is stored under the old delegation.
func (x *Index) WaitForCommits() {
	x.commits.Lock()
	//lint:ignore SA2001 acquiring it is all that matters
	x.commits.Unlock() //nolint:staticcheck
}

// UnwrittenUses returns the delegations whose last use must be written to storage now, with the
// time of that use. These are the delegations whose time of last use in storage is behind the real
// one by at least an eighth of the time without use after which the delegation expires.
func (x *Index) UnwrittenUses() map[*Delegation]time.Time {
	x.mu.RLock()
	all := slices.Collect(x.stored.All())
	x.mu.RUnlock()
	out := map[*Delegation]time.Time{}
	for _, d := range all {
		last, written := d.usage.lastUsed.Load(), d.usage.lastWritten.Load()
		if d.idle > 0 && time.Duration(last-written) >= d.idle/8 {
			out[d] = time.Unix(0, last)
		}
	}
	return out
}
