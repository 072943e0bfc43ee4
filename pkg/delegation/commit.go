// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
)

// Commit is the final check of one write whose caller selected a delegation. Only one goroutine
// may use it.
type Commit struct {
	ctx    context.Context
	chain  *Chain
	caller user.Info
	held   bool
}

// Commit returns the final check of a write by a caller who selected the leaf of the chain.
func (c *Chain) Commit(ctx context.Context, caller user.Info) *Commit {
	return &Commit{ctx: ctx, chain: c, caller: caller}
}

// Begin verifies the chain and the object right before the object is stored. If it returns nil,
// requests that delete a delegation are not answered until End is called. newObj is nil if the
// write deletes oldObj, and oldObj is nil if the write creates newObj.
func (c *Commit) Begin(newObj, oldObj runtime.Object) *Refusal {
	c.End()
	if r := c.chain.checkAccounts(c.ctx); r != nil {
		return r
	}
	if r := c.chain.verify(c.ctx, newObj, oldObj); r != nil {
		return r
	}
	c.chain.index.commits.RLock()
	c.held = true
	if r := c.chain.Recheck(c.caller); r != nil {
		c.End()
		return r
	}
	return nil
}

// End must be called after the write was stored or has failed, so that deletions of delegations are
// answered again. It may also be called without Begin, and more than once.
func (c *Commit) End() {
	if c.held {
		c.held = false
		c.chain.index.commits.RUnlock()
	}
}

// verify evaluates the conditions of all delegations of the chain on the object that is about to
// be stored.
func (c *Chain) verify(ctx context.Context, newObj, oldObj runtime.Object) *Refusal {
	if !c.Conditional() {
		return nil
	}
	if oldObj != nil && !Exists(oldObj) {
		oldObj = nil
	}
	shown := &conditionInput{ctx: ctx, newObj: newObj, oldObj: oldObj, budget: budget}
	for i, link := range c.Links {
		what := c.Describe(i)
		shown.hideSource = i < len(c.Links)-1
		if link.objects != nil && !isSelectedObject(oldObj, link) {
			return refuse(Condition, what+" does not include this object in objectUIDs")
		}
		all, err := link.conditions.compiled(ctx)
		if err != nil {
			if shown.hideSource {
				return refuse(Condition, what+" has a condition that can't be used")
			}
			return refuse(Condition, what+" has a condition that can't be used: "+err.Error())
		}
		for j := range all {
			if r := all[j].check(what, shown); r != nil {
				return r
			}
		}
	}
	return nil
}

// Exists reports whether obj, the old object of a write, is in storage. It returns false for the
// empty old object that upstream passes for an update that creates its object.
func Exists(obj runtime.Object) bool {
	accessor, err := meta.Accessor(obj)
	return err != nil || accessor.GetUID() != "" || accessor.GetResourceVersion() != ""
}

func isSelectedObject(obj runtime.Object, d *Delegation) bool {
	if obj == nil {
		return false
	}
	accessor, err := meta.Accessor(obj)
	return err == nil && d.objects.Has(accessor.GetUID())
}
