// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"slices"
	"sync"

	authority "kube-granular.dev/api/authority/v1alpha1"
)

// pendingCache has the delegations that the controller created and that the informer cache does
// not have yet. Without it, the controller could not revoke a delegation that it just created.
// When the controller starts, the pendingCache can be empty, because the informer cache reads all
// delegations from the server.
type pendingCache struct {
	mu      sync.Mutex
	created map[string][]authority.AuthorityDelegation
}

func (u *pendingCache) add(tenant string, d *authority.AuthorityDelegation) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.created == nil {
		u.created = map[string][]authority.AuthorityDelegation{}
	}
	u.created[tenant] = append(u.created[tenant], *d)
}

// notIn returns the delegations of a tenant that are not in cached, the list from the informer
// cache. It removes the delegations that are in cached from the pendingCache.
func (u *pendingCache) notIn(tenant string, cached []authority.AuthorityDelegation) []authority.AuthorityDelegation {
	return u.remove(tenant, func(d authority.AuthorityDelegation) bool {
		return slices.ContainsFunc(cached, func(c authority.AuthorityDelegation) bool { return c.UID == d.UID })
	})
}

func (u *pendingCache) forget(tenant, name string) {
	u.remove(tenant, func(d authority.AuthorityDelegation) bool { return d.Name == name })
}

// remove removes a delegation of the tenant from the pendingCache if which returns true for it. It
// returns the remaining delegations of the tenant.
func (u *pendingCache) remove(tenant string, which func(authority.AuthorityDelegation) bool) []authority.AuthorityDelegation {
	u.mu.Lock()
	defer u.mu.Unlock()
	left := slices.DeleteFunc(u.created[tenant], which)
	if len(left) == 0 {
		delete(u.created, tenant)
		return nil
	}
	u.created[tenant] = left
	return slices.Clone(left)
}
