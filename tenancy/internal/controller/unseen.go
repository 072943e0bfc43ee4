// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"slices"
	"sync"

	authority "kube-granular.dev/api/authority/v1alpha1"
)

// unseen holds delegations from the moment they are made until the cache has them. Who leaves a
// list in between loses his as well. A process that starts reads all of them first.
type unseen struct {
	mu   sync.Mutex
	made map[string][]authority.AuthorityDelegation
}

func (u *unseen) add(tenant string, d *authority.AuthorityDelegation) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.made == nil {
		u.made = map[string][]authority.AuthorityDelegation{}
	}
	u.made[tenant] = append(u.made[tenant], *d)
}

// but returns those of a tenant that are not among what the cache has, and forgets the others.
func (u *unseen) but(tenant string, cached []authority.AuthorityDelegation) []authority.AuthorityDelegation {
	return u.drop(tenant, func(d authority.AuthorityDelegation) bool {
		return slices.ContainsFunc(cached, func(c authority.AuthorityDelegation) bool { return c.UID == d.UID })
	})
}

func (u *unseen) forget(tenant, name string) {
	u.drop(tenant, func(d authority.AuthorityDelegation) bool { return d.Name == name })
}

// drop returns what it leaves.
func (u *unseen) drop(tenant string, which func(authority.AuthorityDelegation) bool) []authority.AuthorityDelegation {
	u.mu.Lock()
	defer u.mu.Unlock()
	left := slices.DeleteFunc(u.made[tenant], which)
	if len(left) == 0 {
		delete(u.made, tenant)
		return nil
	}
	u.made[tenant] = left
	return slices.Clone(left)
}
