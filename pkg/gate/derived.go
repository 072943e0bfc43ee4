// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/pkg/gate/convert"
	"kube-granular.dev/pkg/rbacindex"
)

// admitted has the fields with an excluded permission that differ from the stored object after mutating
// admission, in one version. Any other difference in such a field that is about to be stored is *derived*:
// the server itself makes it. While it is not known what admission left, which is the zero value, all
// differences are derived.
type admitted struct {
	observation[change.Set]
}

// derived returns those of the final changes that are derived. What was observed before admission is left
// out, because the caller made it and it was verified.
func (a *admitted) derived(observed, final change.Set) change.Set {
	if a.known {
		final = change.Subtract(final, a.observed)
	}
	return change.Subtract(final, observed)
}

// Admitted finds and keeps what mutating admission left in fields with an excluded permission, for an
// update of a stored object.
func (w *write) Admitted(ctx context.Context, newObj, oldObj runtime.Object) error {
	if !w.derives(oldObj) {
		return nil
	}
	ctx, step := w.begin(ctx, "Observe admitted change")
	defer func() { step.end(ctx) }()
	if w.kind.derives() {
		w.admitted.keep(w.kind.compareFields(w.target, newObj, oldObj))
	}
	for i := range w.conversions {
		if c := &w.conversions[i]; c.derives() {
			c.admitted.keep(c.kind.compareFields(c.target, newObj, oldObj))
		}
	}
	return nil
}

// derives reports whether derived changes are to be verified: some field needs an excluded permission, and
// the object is stored. A create has none: what the server fills in where a client sends nothing is its own
// choice. If the caller's own change is not known, every change counts as the caller's anyway. The server
// derives nothing from a scale but the replicas of what is scaled.
func (w *write) derives(oldObj runtime.Object) bool {
	if !w.known || w.scale != nil || !convert.Stored(oldObj) {
		return false
	}
	for i := range w.conversions {
		if w.conversions[i].derives() {
			return true
		}
	}
	return w.kind.derives()
}

func (k *kind) derives() bool { return k.walker != nil && k.excludes() }

// derives reports whether the kind is a built-in one. What the server derives in a custom resource is only
// its status and metadata, in which a conversion finds nothing that is the caller's.
func (c *conversion) derives() bool { return c.builtin() && c.kind.derives() }

// verifyDerived verifies the derived changes. The caller can bring them about by a change of another field,
// so they count as the caller's. See ADR 0117.
func (w *write) verifyDerived(ctx context.Context, newObj, oldObj runtime.Object) error {
	if !w.derives(oldObj) {
		return nil
	}
	if w.kind.derives() {
		if err := w.verifyDerivedIn(ctx, w.written(), &w.admitted, newObj, oldObj); err != nil {
			return err
		}
	}
	for i := range w.conversions {
		c := &w.conversions[i]
		if !c.derives() {
			continue
		}
		if err := w.verifyDerivedIn(ctx, c.inVersion(), &c.admitted, newObj, oldObj); err != nil {
			return err
		}
	}
	return nil
}

func (w *write) verifyDerivedIn(ctx context.Context, version inVersion, admission *admitted, newObj, oldObj runtime.Object) error {
	final, err := version.kind.compareFields(version.target, newObj, oldObj)
	if err != nil {
		return w.forbidden(newObj, fmt.Errorf("its fields can't be verified: %w", err))
	}
	changes := admission.derived(version.observed, final)
	if len(changes) == 0 {
		return nil
	}
	ctx, w.query = rbacindex.ForMore(ctx, w.attributes, w.query)
	refusal, err := w.decide(ctx, changes, false, newObj)
	if refusal == nil || err != nil {
		return err
	}
	version.derived = true
	return w.refusedIn(ctx, version, refusal, newObj, oldObj)
}
