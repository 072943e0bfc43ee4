// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"slices"

	"kube-granular.dev/granular/change"
)

// sender returns the caller of a granular request as a change.Sender, which knows only the keys
// in its own request.
func (w *write) sender(in inVersion) *change.Sender {
	if w.patch == nil {
		return in.kind.walker.Sender(nil, in.observed)
	}
	return in.kind.walker.Sender(w.patch.Has, nil)
}

// knownFirst moves changes whose keys the caller does not know to the end, if the caller may not
// get the object. So the refusal concerns such a change only if all other changes are covered,
// and then the refusal does not name the key.
func (w *write) knownFirst(ctx context.Context, changes change.Set) change.Set {
	if !w.marked || len(changes) < 2 {
		return changes
	}
	sender := w.sender(w.written())
	knows := func(c change.Change) bool {
		_, all := sender.Knows(&c)
		return all || w.scale.isReplicas(c)
	}
	first := slices.IndexFunc(changes, func(c change.Change) bool { return !knows(c) })
	if first < 0 || first == len(changes)-1 || w.mayGet(ctx) {
		return changes
	}
	known, unknown := slices.Clone(changes[:first]), change.Set{changes[first]}
	for _, c := range changes[first+1:] {
		if knows(c) {
			known = append(known, c)
		} else {
			unknown = append(unknown, c)
		}
	}
	return append(known, unknown...)
}
