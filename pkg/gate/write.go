// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/trace"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	upstream "k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/granular"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/decide"
	"kube-granular.dev/pkg/metrics"
	"kube-granular.dev/pkg/rbacindex"
)

// write follows one request. The storage may try several times. What the caller sent belongs
// to the attempt under way; what the authorizer answered is kept.
type write struct {
	requestInfo
	gate  *Gate
	kind  *kind
	scale *scale
	// conversions are the other versions of a custom resource that are judged as well.
	conversions []conversion
	// marker is nil if only the create that an update implies is granular.
	marker *granular.Marker
	// recorded is set where somebody collects the spans of the request.
	recorded bool

	questions
	callerChange
	response
}

var _ granular.Write = &write{}

func newWrite(ctx context.Context, gate *Gate, target granular.Target, kind *kind, attributes upstream.Attributes, marker *granular.Marker) *write {
	w := &write{
		requestInfo:  requestInfo{target: target, attributes: attributes, marked: marker != nil},
		gate:         gate,
		kind:         kind,
		scale:        scaleOf(target),
		conversions:  conversionsOf(target),
		marker:       marker,
		recorded:     trace.SpanFromContext(ctx).IsRecording(),
		questions:    questions{adapter: authorizerAdapter{authorizer: gate.Authorizer, attributes: attributes}},
		callerChange: callerChange{everything: true},
	}
	w.decider = *decide.New(&w.adapter, decide.DefaultBudget)
	return w
}

// mode returns which changes matter.
func (w *write) mode() change.Mode {
	if w.marked {
		return change.All
	}
	return change.ExcludedOnly
}

// Submitted notes whether the caller edits or resets managed fields. Field management
// replaces them, so this can't be seen any later. Absent managed fields mean that
// the server keeps its own; on a subresource it always does. An apply can't send any.
func (w *write) Submitted(_ context.Context, newObj, oldObj runtime.Object) error {
	// Who holds the ordinary verb may edit them.
	w.tampered = w.marked && w.target.Subresource == "" && tampered(newObj, oldObj)
	return nil
}

// Observe sees the caller's change. An object that can't be compared is no
// verdict yet: Verify refuses it, after the errors that come first upstream.
func (w *write) Observe(ctx context.Context, newObj, oldObj runtime.Object) error {
	ctx, step := w.begin(ctx, "Observe granular change")
	defer func() { metrics.Observed(w.traced(ctx), step.end(ctx)) }()
	observed, err := w.kind.compare(w.target, w.mode(), newObj, oldObj)
	w.observed, w.everything = observed, err != nil
	w.owned = w.owned || w.marked && hasManagedFields(newObj)
	if w.scale != nil {
		w.scale.observe(newObj, oldObj)
	}
	w.observeConverted(newObj, oldObj)
	w.createRefused.Store(false)
	return nil
}

// Verify judges what is about to be stored: the fields that the caller changed and
// that did change must be covered.
func (w *write) Verify(ctx context.Context, newObj, oldObj runtime.Object) error {
	ctx, step := w.begin(ctx, "Verify granular change")
	w.missing = nil
	err := w.verify(ctx, newObj, oldObj)
	w.verdict.Store(&verdict{err: err, missing: w.missing, calls: w.adapter.calls})
	w.verified(ctx, step.end(ctx), newObj, err)
	if w.unanswered {
		w.finish(ctx, err)
	}
	return err
}

func (w *write) verify(ctx context.Context, newObj, oldObj runtime.Object) error {
	if err := w.schemaError(); err != nil {
		return w.forbidden(newObj, fmt.Errorf("its fields can't be verified: %w", err))
	}
	if w.owned && hasManagedFields(oldObj) && !hasManagedFields(newObj) {
		// The object is too large with them, which is the caller's doing.
		w.tampered = true
	}
	asking := ctx
	if w.marked || w.everything || w.scale != nil || len(w.observed) > 0 || len(w.conversions) > 0 { // else nothing will be asked
		asking, w.query = rbacindex.ForMore(ctx, w.attributes, w.query)
	}
	if !w.coveredAsObserved(asking) {
		if err := w.verifyFinal(asking, newObj, oldObj); err != nil {
			return err
		}
	}
	resource, was, err := w.resource(ctx, newObj, oldObj)
	if err != nil {
		return err
	}
	if err := w.verifyConverted(asking, resource, was); err != nil {
		return err
	}
	if w.marker != nil {
		w.marker.SetVerified()
		if w.readable.Load() == nil {
			w.askGet(asking) // the answer will depend on it, and what RBAC reads is at hand now
		}
	}
	return nil
}

// coveredAsObserved spares the second look. What a scale means for its resource and managed
// fields that were edited are not in what was observed.
func (w *write) coveredAsObserved(ctx context.Context) bool {
	if w.everything || w.scale != nil || w.tampered {
		return false
	}
	return w.decider.CoveredAsObserved(ctx, w.observed, w.marked)
}

// verifyFinal judges what the caller changed of what is about to change.
func (w *write) verifyFinal(ctx context.Context, newObj, oldObj runtime.Object) error {
	if ctx.Err() != nil {
		return ended() // before the objects are compared again
	}
	changes, err := w.changes(newObj, oldObj)
	if err != nil {
		return w.forbidden(newObj, fmt.Errorf("its fields can't be verified: %w", err))
	}
	if !w.everything {
		changes = change.Answerable(w.observed, changes)
	}
	if w.scale != nil {
		changes = w.scale.changes(w.observed, changes, w.marked)
	}
	if w.tampered {
		changes = append(change.Set{w.managedFields()}, changes...)
	}
	refusal, err := w.decide(ctx, w.knownFirst(ctx, changes), w.marked, newObj)
	if refusal == nil || err != nil {
		return err
	}
	return w.refused(ctx, refusal, newObj, oldObj)
}

// decide returns a refusal of a change that is not covered, or an error for the caller where
// that could not be decided.
func (w *write) decide(ctx context.Context, changes change.Set, marked bool, newObj runtime.Object) (*decide.Refusal, error) {
	refusal, err := w.decider.Decide(ctx, changes, marked)
	switch {
	case err == nil:
		return refusal, nil
	case ctx.Err() != nil:
		return nil, ended()
	}
	return nil, w.failed(ctx, newObj, err)
}

// ended is what a request comes to that is over before it was verified.
func ended() error {
	return apierrors.NewTimeoutError("the request ended before its fields were verified", 0)
}

// changes is what is about to change. Of a scale that is of interest for granular
// requests only.
func (w *write) changes(newObj, oldObj runtime.Object) (change.Set, error) {
	if w.scale != nil && !w.marked {
		return nil, nil
	}
	if w.everything {
		return w.kind.compare(w.target, w.mode(), newObj, oldObj)
	}
	changes, err := w.kind.compareObserved(w.target, w.mode(), w.observed, newObj, oldObj)
	if err != nil || !change.Dropped(w.observed, changes) {
		return changes, err
	}
	// It may have been put where nobody observed anything.
	return w.kind.compare(w.target, w.mode(), newObj, oldObj)
}

// unknown says why the request can't be judged. The scale's own permissions don't
// matter to a caller who holds the ordinary verb, the resource's always do.
func (w *write) schemaError() error {
	if w.scale != nil && w.scale.kind.walker == nil {
		return w.scale.kind.err
	}
	if w.kind.walker == nil && (w.scale == nil || w.marked) {
		return w.kind.err
	}
	return nil
}

// managedFields is what editing them by hand is charged to.
func (w *write) managedFields() change.Change {
	return w.kind.walker.Charge("metadata", "managedFields")
}

// managedFieldsPath is where that is in the object.
func (w *write) managedFieldsPath() string {
	c := w.managedFields()
	return c.Path().String()
}
