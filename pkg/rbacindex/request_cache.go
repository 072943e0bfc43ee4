// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package rbacindex

// bindingCache is the cached result of one lookup of bindings.
type bindingCache[T bound] struct {
	valid    bool
	bindings []T
	// changes is the informer's change counter at the time of the lookup.
	changes uint64
	// recheck is set if bindings may have changed since the lookup.
	recheck bool
}

// isCurrent reports whether there is a cached result, and bindings have not changed since.
func (l *bindingCache[T]) isCurrent(w *watchedInformer) bool {
	if l.recheck {
		namespace, name := "", ""
		if len(l.bindings) > 0 {
			namespace, name = l.bindings[0].GetNamespace(), l.bindings[0].GetName()
		}
		l.valid, l.recheck = w.unchangedSince(l.changes, namespace, name), false
	}
	return l.valid
}

// maxRoles is how many Roles, and how many ClusterRoles, are cached. Searching a longer cache
// would take longer than getting the role from the informer.
const maxRoles = 8

// roleCache caches the first maxRoles roles that were read. The methods of a nil roleCache find
// and store nothing.
type roleCache[T any] struct {
	roles [maxRoles]namedRole[T]
	// count is the number of cached roles.
	count int
	// changes is the informer's change counter before the first cached role was read.
	changes uint64
	// recheck is set if roles may have changed since they were cached.
	recheck bool
}

type namedRole[T any] struct {
	name string
	role T
}

// get returns the cached role with a name, if there is one. All cached roles are in the same
// namespace.
func (k *roleCache[T]) get(w *watchedInformer, namespace, name string) (role T, ok bool) {
	if k == nil {
		return role, false
	}
	if k.recheck {
		if k.count > 0 && !w.unchangedSince(k.changes, namespace, k.roles[0].name) {
			k.count = 0
		}
		k.recheck = false
	}
	for i := range k.roles[:k.count] {
		if k.roles[i].name == name {
			return k.roles[i].role, true
		}
	}
	return role, false
}

// changesToRecord returns the value of the change counter to store with a role that is about to
// be read: the value from before the first cached role. It returns false if the role must not be
// cached.
func (k *roleCache[T]) changesToRecord(w *watchedInformer) (at uint64, ok bool) {
	switch {
	case k == nil || k.count == len(k.roles) || !w.start():
		return 0, false
	case k.count > 0:
		return k.changes, true
	}
	return w.changes.Load(), true
}

// add caches a role. All cached roles are valid as long as nothing has changed since the first
// one was read.
func (k *roleCache[T]) add(at uint64, name string, role T) {
	k.changes = at
	k.roles[k.count] = namedRole[T]{name, role}
	k.count++
}
