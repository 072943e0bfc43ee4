// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/lru"
)

// Accounts finds out whether the service accounts that created delegations still exist. A name says
// nothing about that: after a deletion, somebody can create another account of the same name.
type Accounts struct {
	// Known returns the UID of a service account, or "" if this server does not know the account. It
	// does not wait for anything.
	Known func(namespace, name string) types.UID
	// Read reads the UID of a service account from storage. It returns a NotFound error if there is
	// none.
	Read func(ctx context.Context, namespace, name string) (types.UID, error)

	// found remembers what Read returned. Informers need a moment to learn of a new account, and
	// never report a deleted one again.
	found *lru.Cache
	// readLimiter limits how often Read is called.
	readLimiter flowcontrol.RateLimiter
	now         func() time.Time
}

const (
	// maxFound is the maximum number of accounts that Accounts remembers.
	maxFound = 10_000
	// foundStays is how long an account that was read counts as existing while the informer does not
	// know it.
	foundStays = 5 * time.Second
	// readTimeout is how long a read may take.
	readTimeout = 2 * time.Second
)

// NewAccounts returns Accounts. Known and Read are described at the fields.
func NewAccounts(known func(namespace, name string) types.UID, read func(ctx context.Context, namespace, name string) (types.UID, error)) *Accounts {
	return &Accounts{
		Known: known, Read: read, found: lru.New(maxFound), now: time.Now,
		readLimiter: flowcontrol.NewTokenBucketRateLimiter(readsPerSecond, readsAtOnce),
	}
}

// presence tells whether the account that created a delegation still exists.
type presence int

const (
	// present accounts have the recorded UID. Users who are not service accounts, or have no recorded
	// UID, count as present: nobody can tell.
	present presence = iota
	// absent accounts were deleted, whether or not another one has the name now.
	absent
	// unknown accounts are not known to the informer, and could not be read.
	unknown
)

type accountKey struct {
	namespace, name string
	uid             types.UID
}

// foundAccount is what a read has found out. An account that is absent stays so.
type foundAccount struct {
	presence presence
	read     time.Time
}

// presenceOf returns whether the account of a user still exists. It is read from storage if this
// server knows no account of that name, or another one: the informer can be behind.
func (a *Accounts) presenceOf(ctx context.Context, username, recorded string) presence {
	namespace, name, err := serviceaccount.SplitUsername(username)
	if a == nil || err != nil || recorded == "" {
		return present
	}
	key := accountKey{namespace, name, types.UID(recorded)}
	if a.Known(namespace, name) == key.uid {
		return present
	}
	if known, ok := a.found.Get(key); ok {
		if f := known.(foundAccount); f.presence == absent || a.now().Sub(f.read) < foundStays {
			return f.presence
		}
	}
	if !a.readLimiter.TryAccept() {
		return unknown
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	uid, err := a.Read(ctx, namespace, name)
	f := foundAccount{absent, a.now()}
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return unknown
	case uid == key.uid:
		f.presence = present
	}
	a.found.Add(key, f)
	return f.presence
}

// asksDelegator reports whether a delegation depends on what its delegator is at present. A delegation
// with ifLost: Keep does not. Nor does one that a policy issued to a controller under another
// delegation: the authority is that of the first delegator, and the controller only passes it on.
func (c *Chain) asksDelegator(i int) bool {
	link := c.Links[i]
	return !link.Keep && (i == 0 || link.Source == nil)
}

// checkAccounts returns why the chain can't be used because a service account that created one of its
// delegations was deleted, or nil if none was.
func (c *Chain) checkAccounts(ctx context.Context) *Refusal {
	for i, link := range c.Links {
		if !c.asksDelegator(i) {
			continue
		}
		switch c.index.sources.Load().Accounts.presenceOf(ctx, link.Delegator.GetName(), link.Delegator.GetUID()) {
		case absent:
			return refuse(DelegatorGone, fmt.Sprintf("the service account that created %s was deleted", c.Describe(i)))
		case unknown:
			return refuse(DelegatorUnknown, fmt.Sprintf(
				"this server does not know yet whether the service account that created %s still exists; try again", c.Describe(i)))
		}
	}
	return nil
}

// DelegatorGone reports whether the service account that created the delegation with an index in Links
// was deleted, so that the name belongs to nobody, or to another account.
func (c *Chain) DelegatorGone(ctx context.Context, i int) bool {
	delegator := c.Links[i].Delegator
	return c.index.sources.Load().Accounts.presenceOf(ctx, delegator.GetName(), delegator.GetUID()) == absent
}
