// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/util/flowcontrol"

	"kube-granular.dev/api/authority/v1alpha1"
)

// Index is what a server knows of delegations.
type Index struct {
	mu     sync.RWMutex
	byUID  map[types.UID]*Delegation
	byName map[string]types.UID
	// tombstones has delegations that this server saw removed, until its watch has seen it too: it may
	// tell of older versions first.
	tombstones map[types.UID]uint64
	// count is how many there are, for those who can't wait for mu.
	count atomic.Int64
	// watchVersion is the version up to which the watch has told all. What is older and not known was
	// removed.
	watchVersion uint64
	// synced is set once all that was stored at the start is known.
	synced atomic.Bool
	// commits is read-locked by writes from their last look until they are stored.
	commits sync.RWMutex

	// Namespace returns the UID of a namespace, or nothing if it is not known. It is set before
	// the server serves.
	Namespace func(name string) types.UID
	// Get reads a delegation from storage. It is set before the server serves, and may be nil.
	Get func(ctx context.Context, name string) (*v1alpha1.AuthorityDelegation, error)
	// readLimiter limits how often that is done for names that are not known.
	readLimiter flowcontrol.RateLimiter
	// now is time.Now, but in tests.
	now func() time.Time
}

// How many names that this server does not know it reads from storage, a second and at once:
// another server may just have created them.
const (
	readsPerSecond = 20
	readsAtOnce    = 100
)

// NewIndex returns an index that knows nothing yet.
func NewIndex() *Index {
	return &Index{
		byUID: map[types.UID]*Delegation{}, byName: map[string]types.UID{}, tombstones: map[types.UID]uint64{},
		Namespace:   func(string) types.UID { return "" },
		readLimiter: flowcontrol.NewTokenBucketRateLimiter(readsPerSecond, readsAtOnce),
		now:         time.Now,
	}
}

// HasSynced reports whether all is known that was stored when the server started.
func (x *Index) HasSynced() bool { return x.synced.Load() }

// Chain returns the chain of the delegation with a name, a UID, or both, for a caller. The
// chain is returned as well where it is known and does not hold.
func (x *Index) Chain(ctx context.Context, name string, uid types.UID, caller user.Info) (*Chain, *Refusal) {
	c := x.chain(name, uid)
	if c == nil && x.fetchChain(ctx, name, uid) {
		c = x.chain(name, uid)
	}
	if c == nil {
		return nil, refuse(NotFound, fmt.Sprintf("there is no AuthorityDelegation %s any more, one that it was made under is gone, or this server does not know it yet", quoteNameOrUID(name, uid)))
	}
	return c, c.checkValid(caller)
}

func quoteNameOrUID(name string, uid types.UID) string {
	if name == "" {
		return fmt.Sprintf("with the UID %q", uid)
	}
	return fmt.Sprintf("%q", name)
}

// chain returns nil where not all links are known.
func (x *Index) chain(name string, uid types.UID) *Chain {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if uid == "" {
		uid = x.byName[name]
	}
	leaf := x.byUID[uid]
	if leaf == nil || name != "" && leaf.Name != name {
		return nil
	}
	c := &Chain{index: x}
	for _, e := range leaf.History {
		if e.Via != v1alpha1.ViaDelegation {
			continue
		}
		link := x.byUID[e.UID]
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

// fetchChain reads a delegation that another server may have created, and those it was made
// under. One that was asked for by its UID alone can't be read.
func (x *Index) fetchChain(ctx context.Context, name string, uid types.UID) bool {
	if name == "" || x.Get == nil {
		return false
	}
	x.mu.RLock()
	_, gone := x.tombstones[uid]
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
		known := x.byUID[e.UID] != nil
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
	d, err := x.Get(ctx, name)
	if err != nil {
		return nil
	}
	x.Observe(d, false)
	return d
}

// checkValid reports why a delegation does not hold, by itself.
func (x *Index) checkValid(d *Delegation, now time.Time) *Refusal {
	switch {
	case d.deleting:
		return refuse(NotFound, fmt.Sprintf("%s is being deleted", describe(d)))
	case !d.Until.IsZero() && !now.Before(d.Until):
		return refuse(Expired, fmt.Sprintf("%s has expired", describe(d)))
	case d.idle > 0 && now.Sub(time.Unix(0, d.usage.lastUsed.Load())) >= d.idle:
		return refuse(Idle, fmt.Sprintf("%s has not been used for too long", describe(d)))
	case d.scope.Namespace != "" && (d.namespaceUID == "" || x.Namespace(d.scope.Namespace) != d.namespaceUID):
		return refuse(NamespaceGone, fmt.Sprintf("the namespace that %s was made for is gone", describe(d)))
	}
	return nil
}

// Recheck reports why a chain does not hold any more. It looks at what is known now.
func (c *Chain) Recheck(caller user.Info) *Refusal {
	leaf := c.Leaf()
	now := c.index.chain(leaf.Name, leaf.UID)
	if now == nil {
		return refuse(NotFound, fmt.Sprintf("%s, or one that it was made under, was deleted", describe(leaf)))
	}
	return now.checkValid(caller)
}

// WaitForCommits returns when all writes are stored, or have failed, that looked at their chains
// before. It is called between a change of what is known and its answer.
func (x *Index) WaitForCommits() {
	x.commits.Lock()
	//lint:ignore SA2001 to have had it is all that matters
	x.commits.Unlock() //nolint:staticcheck
}

// UnwrittenUses returns the delegations whose use is to be written down, and when that was.
func (x *Index) UnwrittenUses() map[*Delegation]time.Time {
	x.mu.RLock()
	all := slices.Collect(maps.Values(x.byUID))
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
