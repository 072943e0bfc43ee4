// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
)

// Commit is one write under a chain. It is used by one goroutine.
type Commit struct {
	ctx    context.Context
	chain  *Chain
	caller user.Info
	held   bool
}

// Commit returns the commit of a write by a caller.
func (c *Chain) Commit(ctx context.Context, caller user.Info) *Commit {
	return &Commit{ctx: ctx, chain: c, caller: caller}
}

// Begin looks at the chain, and at what is about to be stored, for the last time. Whoever
// deletes a delegation of the chain is not answered before End. newObj is nil if oldObj is
// deleted, oldObj is nil if newObj is created.
func (c *Commit) Begin(newObj, oldObj runtime.Object) *Refusal {
	c.End()
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

// End ends the commit: the write is stored, or will not be. It may be called at any time.
func (c *Commit) End() {
	if c.held {
		c.held = false
		c.chain.index.commits.RUnlock()
	}
}

// verify looks at what is about to be stored.
func (c *Chain) verify(ctx context.Context, newObj, oldObj runtime.Object) *Refusal {
	if !c.Conditional() {
		return nil
	}
	if oldObj != nil && !Exists(oldObj) {
		oldObj = nil
	}
	shown := &conditionInput{ctx: ctx, newObj: newObj, oldObj: oldObj, budget: budget}
	for _, link := range c.Links {
		if link.objects != nil && !isSelectedObject(oldObj, link) {
			return refuse(Condition, describe(link)+" is for other objects than this one")
		}
		if link.broken != nil {
			return refuse(Condition, describe(link)+" has a condition that can't be used: "+link.broken.Error())
		}
		for i := range link.conditions {
			if r := link.conditions[i].check(link, shown); r != nil {
				return r
			}
		}
	}
	return nil
}

// Exists reports whether an object is one that is stored: one that an update is to create is
// shown as an empty one before.
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
