// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package bindings

// list is the bindings that one question found.
type list[T any] struct {
	known bool
	of    []T
	at    moment
	// earlier says that there may have been changes since.
	earlier bool
}

// holds says whether a question found the list, and there is nothing else now.
func (l *list[T]) holds(w *watched) bool {
	if l.earlier {
		l.known, l.earlier = w.now() == l.at, false
	}
	return l.known
}

// knownRoles is how many roles of either kind are kept; more are got again. To look for one
// among many takes longer than to get it.
const knownRoles = 8

// kept is the first roles that one question got.
type kept[T any] struct {
	// of has room for as many as are kept.
	of []named[T]
	// at is when the first one was there.
	at moment
	// earlier says that there may have been changes since.
	earlier bool
}

type named[T any] struct {
	name string
	role T
}

// known gives a role that was got before.
func (k *kept[T]) known(w *watched, name string) (role T, ok bool) {
	if k.earlier {
		if w.now() != k.at {
			k.of = k.of[:0]
		}
		k.earlier = false
	}
	for i := range k.of {
		if k.of[i].name == name {
			return k.of[i].role, true
		}
	}
	return role, false
}

// before is taken before a role is got: when the first one was, or the zero moment where none
// is kept.
func (k *kept[T]) before(w *watched) moment {
	switch {
	case len(k.of) == cap(k.of) || !w.watch():
		return moment{}
	case len(k.of) > 0:
		return k.at
	}
	return w.now()
}

// keep keeps a role for as long as nothing changed since the first one.
func (k *kept[T]) keep(before moment, name string, role T) {
	if before != (moment{}) {
		k.at = before
		k.of = append(k.of, named[T]{name, role})
	}
}
