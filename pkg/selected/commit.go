// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package selected

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	seam "k8s.io/apiserver/pkg/authorization/selected"
	"k8s.io/apiserver/pkg/endpoints/request"

	"kube-granular.dev/pkg/delegation"
)

// Commit returns what checks a write once more right before it is stored: policies issue their
// delegations, and the selected delegation is verified again.
func (s Selection) Commit(ctx context.Context, dryRun bool) seam.Commit {
	u, _ := request.UserFrom(ctx)
	selecting, ok := u.(*User)
	selects := ok && selecting.delegated()
	causing := s.policyWrite(ctx, u, dryRun)
	if !selects && causing == nil {
		return nil
	}
	c := &commit{ctx: ctx, policyWrite: causing}
	if !selects {
		return c
	}
	c.user = selecting
	if s.Delegations == nil {
		c.failed = errNotServed
		return c
	}
	chain, refusal := selecting.chain(ctx, s.Delegations)
	if refusal != nil {
		c.failed = forbidden(ctx, selecting, refusal)
		return c
	}
	c.chain = chain.Commit(ctx, selecting.ambient)
	return c
}

// policyWrite returns how policies apply to a write, or nil.
func (s Selection) policyWrite(ctx context.Context, u user.Info, dryRun bool) *policyWrite {
	if s.PolicyIssuer == nil || u == nil {
		return nil
	}
	return s.PolicyIssuer.forWrite(ctx, dryRun)
}

// commit is the final check of one write.
type commit struct {
	ctx         context.Context
	policyWrite *policyWrite
	// user is the caller who selects a delegation, or nil. If it is set, either failed or chain
	// is set.
	user   *User
	failed error
	chain  *delegation.Commit
	old    runtime.Object
}

// Before implements seam.Commit.
func (c *commit) Before(oldObj runtime.Object) {
	c.old = nil
	if looks := c.policyWrite.observeOld(oldObj); looks || c.user != nil {
		c.old = oldObj.DeepCopyObject() // an update may modify it
	}
}

// Begin implements seam.Commit.
func (c *commit) Begin(newObj runtime.Object) error {
	if c.failed != nil {
		return c.failed
	}
	if c.policyWrite != nil && newObj != nil {
		// Policies come first: no delegation is created while a deletion waits for the chain's
		// lock.
		if err := c.policyWrite.stamp(newObj, c.old); err != nil {
			return err
		}
	}
	if c.chain == nil {
		return nil
	}
	if refusal := c.chain.Begin(newObj, c.old); refusal != nil {
		return forbidden(c.ctx, c.user, refusal)
	}
	return nil
}

// End implements seam.Commit.
func (c *commit) End() {
	if c.chain != nil {
		c.chain.End()
	}
}
