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
	exempt, err := w.isExempt(ctx)
	if err != nil || !exempt {
		return refusal, err
	}
	w.decider.IgnoreEntries()
	return w.decider.Decide(ctx, changes, marked)
}

// isExempt reports whether the caller is allowed the verb "bypass" on the FieldPermission whose
// entries are in force. Upstream's controllers are, because they write what others ask for. It asks
// the authorizer once for a request, and again only if the authorizer returned an error.
func (w *write) isExempt(ctx context.Context) (bool, error) {
	if w.bypass != nil {
		return *w.bypass, nil
	}
	w.adapter.calls++
	exempt, err := w.gate.bypasses(ctx, w.attributes.GetUser(), FieldBypassResource, w.kind.added.entries.Source)
	if exempt || err == nil {
		w.bypass = &exempt
		return exempt, nil
	}
	return false, err
}

// source returns the end of a refusal, which names the FieldPermission that excludes the field. It is
// empty if none does.
func (w *write) source(refusal *decide.Refusal) string {
	if !refusal.ByEntry() || w.bypass != nil && *w.bypass {
		return ""
	}
	return fmt.Sprintf(" (excluded by FieldPermission %s)", w.kind.added.entries.Source)
}

// unverified returns the refusal of a write whose fields can't be verified, because of err, as fields
// of a kind. It returns nil if only entries exclude fields of that kind, and the caller holds the
// ordinary verb and is exempt from exclusions of entries.
func (w *write) unverified(ctx context.Context, k *kind, err error, newObj runtime.Object) error {
	if k.byEntry && !w.marked {
		switch exempt, err := w.isExempt(ctx); {
		case err != nil && ctx.Err() != nil:
			return ended()
		case err != nil:
			return w.failed(ctx, newObj, err)
		case exempt:
			return nil
		}
	}
	return w.forbidden(newObj, fmt.Errorf("its fields can't be verified: %w", err))
}
