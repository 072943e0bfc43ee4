// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/decide"
)

// exempted returns the decision about changes that an exclusion of an entry refuses. If the caller is
// exempt from exclusions of entries, the changes are decided again without them.
func (w *write) exempted(ctx context.Context, refusal *decide.Refusal, changes change.Set, marked bool) (*decide.Refusal, error) {
	for refusal != nil && refusal.ByEntry() {
		exempt, err := w.isExempt(ctx, w.kind.added.origin(refusal.Embedded()).Source)
		if err != nil || !exempt {
			return refusal, err
		}
		w.decider.IgnoreEntries(refusal.Embedded())
		if refusal, err = w.decider.Decide(ctx, changes, marked); err != nil {
			return nil, err
		}
	}
	return refusal, nil
}

// isExempt reports whether the caller is allowed the verb "bypass" on a FieldPermission whose entries
// are in force. Upstream's controllers are, because they write what others ask for. It asks the
// authorizer once for a request and FieldPermission, and again only if the authorizer returned an error.
func (w *write) isExempt(ctx context.Context, source string) (bool, error) {
	if exempt, known := w.bypass[source]; known {
		return exempt, nil
	}
	w.adapter.calls++
	exempt, err := w.gate.bypasses(ctx, w.attributes.GetUser(), FieldBypassResource, source)
	if !exempt && err != nil {
		return false, err
	}
	if w.bypass == nil {
		w.bypass = map[string]bool{}
	}
	w.bypass[source] = exempt
	return exempt, nil
}

// source returns the name of the FieldPermission that excludes the field of a refusal, or "" if none does.
func (w *write) source(refusal *decide.Refusal) string {
	if !refusal.ByEntry() {
		return ""
	}
	return w.kind.added.origin(refusal.Embedded()).Source
}

// removes reports whether the request removes the field of a refusal that an entry causes: a client that does not know a
// field removes it without an intention, and its user would search for the value in vain. told is the refusal as the
// caller may see it: of what is withheld, removes tells nothing.
func (w *write) removes(version inVersion, refusal, told *decide.Refusal, newObj, oldObj runtime.Object) (removed bool) {
	if !refusal.ByEntry() || told != refusal {
		return false
	}
	version.kind.locate(version.target, refusal.Change, newObj, oldObj, func(walker *change.Walker, c change.Change, old, new any) string {
		removed = walker.Removes(c, old, new)
		return ""
	})
	return removed
}

// unverified returns the refusal of a write whose fields can't be verified, because of err, as fields
// of a kind. It returns nil if only entries exclude fields of that kind, and the caller holds the
// ordinary verb and is exempt from exclusions of entries.
func (w *write) unverified(ctx context.Context, k *kind, err error, newObj runtime.Object) error {
	if k.byEntry && !w.marked {
		exempt := true
		for _, origin := range k.added.origins() {
			passes, err := w.isExempt(ctx, origin.Source)
			switch {
			case err != nil && ctx.Err() != nil:
				return ended()
			case err != nil:
				return w.failed(ctx, newObj, err)
			}
			exempt = exempt && passes
		}
		if exempt {
			return nil
		}
	}
	return w.forbidden(newObj, fmt.Errorf("its fields can't be verified: %w", err))
}
