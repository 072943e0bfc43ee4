// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldpermission

import (
	"slices"
	"sync"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/granular/overlay"
)

// counts has, for each FieldPermission with mode Audit, what it would have refused.
type counts struct {
	lock sync.Mutex
	all  map[string]Violations
}

// Violations are requests that a FieldPermission with mode Audit would have refused.
type Violations struct {
	// Count is the number of requests.
	Count int64
	// Users are some of their users, at most v1alpha1.MaxAuditUsers, each once.
	Users []string
}

func newCounts() counts { return counts{all: map[string]Violations{}} }

// Counted counts a request of a user that would have been refused if the mode were not Audit. The count is
// only kept in memory. The controller of package status adds it to the status later. The path of the entry is
// in the audit event of the request.
func (x *Index) Counted(entries *overlay.Entries, _, user string) {
	x.counts.lock.Lock()
	defer x.counts.lock.Unlock()
	known := x.counts.all[entries.Source]
	known.Count++
	known.Users = AddUser(known.Users, user)
	x.counts.all[entries.Source] = known
}

func (c *counts) forget(name string) {
	c.lock.Lock()
	defer c.lock.Unlock()
	delete(c.all, name)
}

// AddUser adds a user to a list of at most v1alpha1.MaxAuditUsers, unless the list has the user.
func AddUser(users []string, user string) []string {
	if len(users) >= v1alpha1.MaxAuditUsers || slices.Contains(users, user) {
		return users
	}
	return append(slices.Clip(users), user)
}

// Violations returns what was counted for a FieldPermission and is not yet added to its status.
func (x *Index) Violations(name string) Violations {
	x.counts.lock.Lock()
	defer x.counts.lock.Unlock()
	return x.counts.all[name]
}

// SubtractViolations subtracts n requests that were written to the status of a FieldPermission.
func (x *Index) SubtractViolations(name string, n int64) {
	x.counts.lock.Lock()
	defer x.counts.lock.Unlock()
	known := x.counts.all[name]
	if known.Count -= n; known.Count > 0 {
		x.counts.all[name] = known
		return
	}
	delete(x.counts.all, name)
}

// PruneViolations removes the counts of FieldPermissions that no longer exist.
func (x *Index) PruneViolations() {
	there := map[string]bool{}
	for _, p := range x.All() {
		there[p.Name] = true
	}
	x.counts.lock.Lock()
	defer x.counts.lock.Unlock()
	for name := range x.counts.all {
		if !there[name] {
			delete(x.counts.all, name)
		}
	}
}
