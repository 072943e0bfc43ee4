// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package rbacindex

// bindingCache is the bindings that one question found.
type bindingCache[T bound] struct {
	valid    bool
	bindings []T
	// changes is how many changes there had been.
	changes uint64
	// recheck says that there may have been changes since.
	recheck bool
}

// isCurrent says whether a question found the list, and there is nothing else now.
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

// maxRoles is how many roles of either kind are kept; more are got again. To look for one
// among many takes longer than to get it.
const maxRoles = 8

// roleCache is the first roles that one question got. Of nil nothing is known and none is kept.
type roleCache[T any] struct {
	roles [maxRoles]namedRole[T]
	// count is how many of them there are.
	count int
	// changes is how many changes there had been when the first one was there.
	changes uint64
	// recheck says that there may have been changes since.
	recheck bool
}

type namedRole[T any] struct {
	name string
	role T
}

// get gives a role that was got before, all of them in one namespace.
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

// changesToRecord is taken before a role is got that is to be kept: how many changes there had been
// when the first one was. It is not ok where none is kept.
func (k *roleCache[T]) changesToRecord(w *watchedInformer) (at uint64, ok bool) {
	switch {
	case k == nil || k.count == len(k.roles) || !w.start():
		return 0, false
	case k.count > 0:
		return k.changes, true
	}
	return w.changes.Load(), true
}

// add keeps a role for as long as nothing changed since the first one.
func (k *roleCache[T]) add(at uint64, name string, role T) {
	k.changes = at
	k.roles[k.count] = namedRole[T]{name, role}
	k.count++
}
