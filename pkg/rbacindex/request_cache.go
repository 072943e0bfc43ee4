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

// isCurrent reports whether there is a cached result that can still be used, because no binding has
// changed since the lookup.
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

// maxRoles is how many Roles are cached at most, and also how many ClusterRoles. Searching a longer
// cache would take longer than getting the role from the informer.
const maxRoles = 8

// roleCache caches the first maxRoles roles that were read. A query without a cache has a nil
// roleCache, whose methods find and store nothing.
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

// get returns the cached role with a name, and whether there is one. namespace is the namespace of
// all cached roles, empty for ClusterRoles.
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

// changesToRecord is called before a role is read. It returns the value to pass to add: the value
// that the change counter had before the first cached role was read. It returns false if the role
// must not be cached.
func (k *roleCache[T]) changesToRecord(w *watchedInformer) (number uint64, ok bool) {
	switch {
	case k == nil || k.count == len(k.roles) || !w.start():
		return 0, false
	case k.count > 0:
		return k.changes, true
	}
	return w.changes.Load(), true
}

// add caches a role. number is the value that the change counter had before the first cached role was
// read: the cached roles are valid while the counter still has that value.
func (k *roleCache[T]) add(number uint64, name string, role T) {
	k.changes = number
	k.roles[k.count] = namedRole[T]{name, role}
	k.count++
}
