// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"slices"

	"kube-granular.dev/granular/change"
)

// sender returns a change.Sender for the caller of a granular request. The change.Sender tells
// which keys are in the request: in the patch or, if the request is no patch, in the new object.
// The caller is assumed to know only these.
func (w *write) sender(version inVersion) *change.Sender {
	if w.patch == nil {
		return version.kind.walker.Sender(nil, version.observed)
	}
	if w.patch.Applied() {
		return version.kind.walker.SenderOfApply(w.patch.Has, version.observed)
	}
	return version.kind.walker.Sender(w.patch.Has, nil)
}

// knownFirst moves the changes at keys that are not in the request to the end, if the caller is
// not allowed to get the object. The first change that is not covered is refused. So such a
// change is refused only if all other changes are covered, and then the error does not contain
// the key.
func (w *write) knownFirst(ctx context.Context, changes change.Set) change.Set {
	if !w.marked || len(changes) < 2 {
		return changes
	}
	sender := w.sender(w.written())
	knows := func(c *change.Change) bool {
		_, all := sender.Knows(c)
		return all || w.scale.isReplicas(*c)
	}
	first := slices.IndexFunc(changes, func(c change.Change) bool { return !knows(&c) })
	if first < 0 || first == len(changes)-1 || w.mayGet(ctx) {
		return changes
	}
	known, unknown := split(changes, first, knows)
	return append(known, unknown...)
}
