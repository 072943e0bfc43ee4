// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package rbacindex

// list is the bindings that one question found.
type list[T bound] struct {
	known bool
	of    []T
	// at is how many changes there had been.
	at uint64
	// earlier says that there may have been changes since.
	earlier bool
}

// holds says whether a question found the list, and there is nothing else now.
func (l *list[T]) holds(w *watched) bool {
	if l.earlier {
		namespace, name := "", ""
		if len(l.of) > 0 {
			namespace, name = l.of[0].GetNamespace(), l.of[0].GetName()
		}
		l.known, l.earlier = w.same(l.at, namespace, name), false
	}
	return l.known
}

// knownRoles is how many roles of either kind are kept; more are got again. To look for one
// among many takes longer than to get it.
const knownRoles = 8

// kept is the first roles that one question got. Of nil nothing is known and none is kept.
type kept[T any] struct {
	of [knownRoles]named[T]
	// n is how many of them there are.
	n int
	// at is how many changes there had been when the first one was there.
	at uint64
	// earlier says that there may have been changes since.
	earlier bool
}

type named[T any] struct {
	name string
	role T
}

// known gives a role that was got before, all of them in one namespace.
func (k *kept[T]) known(w *watched, namespace, name string) (role T, ok bool) {
	if k == nil {
		return role, false
	}
	if k.earlier {
		if k.n > 0 && !w.same(k.at, namespace, k.of[0].name) {
			k.n = 0
		}
		k.earlier = false
	}
	for i := range k.of[:k.n] {
		if k.of[i].name == name {
			return k.of[i].role, true
		}
	}
	return role, false
}

// before is taken before a role is got that is to be kept: how many changes there had been
// when the first one was. It is not ok where none is kept.
func (k *kept[T]) before(w *watched) (at uint64, ok bool) {
	switch {
	case k == nil || k.n == len(k.of) || !w.watch():
		return 0, false
	case k.n > 0:
		return k.at, true
	}
	return w.changes.Load(), true
}

// keep keeps a role for as long as nothing changed since the first one.
func (k *kept[T]) keep(at uint64, name string, role T) {
	k.at = at
	k.of[k.n] = named[T]{name, role}
	k.n++
}
