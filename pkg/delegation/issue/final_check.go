// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package issue

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	seam "k8s.io/apiserver/pkg/authorization/selected"
	"k8s.io/apiserver/pkg/endpoints/request"

	"kube-granular.dev/pkg/delegation"
	"kube-granular.dev/pkg/selected"
)

// FinalChecks makes the final checks of writes. It implements the method Commit of seam.Selection.
type FinalChecks struct {
	// Delegations are the delegations that a caller can select. It is nil if the server does not
	// serve AuthorityDelegations.
	Delegations *delegation.Index
	// Policies issues delegations for writes. It is nil if the server does not serve
	// AuthorityDelegationPolicies. If Delegations is set, the server serves both, and a Policies that is
	// nil is not built yet: then all writes of users are refused.
	Policies *PolicyIssuer
}

// Commit returns the final check of a write, which runs right before the object is stored. The
// check issues the delegations that delegation policies require for the object, guards the annotation that
// binds a service account, refuses Secrets with tokens to callers who select, refuses new owners where the delegation does
// not allow to delete, and verifies the delegation that the caller selected once more. Commit returns nil if the write needs none of these.
func (f FinalChecks) Commit(ctx context.Context, dryRun bool) seam.Commit {
	u, _ := request.UserFrom(ctx)
	selecting, ok := u.(*selected.User)
	selects := ok && selecting.SelectsDelegation()
	if f.Delegations != nil && f.Policies == nil && u != nil {
		return &commit{ctx: ctx, failed: policiesNotRead()}
	}
	causing, account, secret := f.policyWrite(ctx, u, dryRun), f.accountWrite(ctx, u, dryRun), writesSecretSelecting(ctx, u)
	if !selects && causing == nil && account == nil && !secret {
		return nil
	}
	c := &commit{ctx: ctx, policyWrite: causing, accountWrite: account, tokens: secret}
	if !selects {
		return c
	}
	c.user = selecting
	if f.Delegations == nil {
		c.failed = selected.ErrNotServed
		return c
	}
	chain, refusal := selecting.Chain(ctx, f.Delegations)
	if refusal != nil {
		c.failed = selected.Forbidden(ctx, selecting, refusal)
		return c
	}
	c.chain, c.authorizer = chain.Commit(ctx, selected.WithoutSelection(selecting)), f.Policies.Issuer.Authorizer
	return c
}

// policyWrite returns the part of the final check that applies the delegation policies to a write,
// or nil if no delegation policy can apply to the write.
func (f FinalChecks) policyWrite(ctx context.Context, u user.Info, dryRun bool) *policyWrite {
	if f.Policies == nil || u == nil {
		return nil
	}
	return f.Policies.forWrite(ctx, dryRun)
}

// accountWrite returns the part of the final check that guards which service accounts are bound to
// delegations, or nil if the write is not about a service account.
func (f FinalChecks) accountWrite(ctx context.Context, u user.Info, dryRun bool) *accountWrite {
	if f.Policies == nil || u == nil {
		return nil
	}
	return f.Policies.forAccount(ctx, u, dryRun)
}

// commit is the final check of one write.
type commit struct {
	ctx          context.Context
	policyWrite  *policyWrite
	accountWrite *accountWrite
	// tokens is true if the object may be a Secret that gets a token of a service account.
	tokens bool
	// user is the caller, if the caller selected a delegation, and nil otherwise. If user is
	// set, either failed or chain is set. failed is why the write is refused before it is checked.
	user   *selected.User
	failed error
	chain  *delegation.Commit
	// authorizer is that of the server, if chain is set.
	authorizer authorizer.UnconditionalAuthorizer
	old        runtime.Object
}

// Before implements seam.Commit.
func (c *commit) Before(oldObj runtime.Object) {
	c.old = nil
	c.accountWrite.observeOld(oldObj)
	if looks := c.policyWrite.observeOld(oldObj); looks || c.user != nil {
		c.old = oldObj.DeepCopyObject() // the update may modify oldObj in place
	}
}

// Begin implements seam.Commit.
func (c *commit) Begin(newObj runtime.Object) error {
	if c.failed != nil {
		return c.failed
	}
	if err := c.accountWrite.check(newObj); err != nil {
		return err
	}
	if c.tokens {
		if err := checkTokenSecret(newObj); err != nil {
			return err
		}
	}
	if c.chain != nil {
		if err := c.checkOwners(newObj); err != nil {
			return err
		}
	}
	if c.policyWrite != nil && newObj != nil {
		// The policies are applied before the chain is verified. c.chain.Begin takes a lock for
		// which the deletion of a delegation waits. Policies create delegations, which must not
		// happen under that lock.
		if err := c.policyWrite.stamp(newObj, c.old); err != nil {
			return err
		}
	}
	if c.chain == nil {
		return nil
	}
	if refusal := c.chain.Begin(newObj, c.old); refusal != nil {
		return selected.Forbidden(c.ctx, c.user, refusal)
	}
	return nil
}

// End implements seam.Commit.
func (c *commit) End() {
	if c.chain != nil {
		c.chain.End()
	}
	c.accountWrite.end()
}
