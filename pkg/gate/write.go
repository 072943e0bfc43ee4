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

// write verifies the fields of one request. The storage may attempt the write several times. The
// caller's change is observed anew in each attempt; the answers of the authorizer are kept for
// all attempts.
type write struct {
	requestInfo
	gate  *Gate
	kind  *kind
	scale *scale
	// conversions are the other versions of a custom resource that are verified too.
	conversions []conversion
	// marker marks a granular request. It is nil for any other request, and also if only the
	// create that an update implies is granular.
	marker *granular.Marker
	// recorded is set if spans of the request are recorded.
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

// mode returns which fields are compared: all fields for a marked request, whose caller lacks the
// ordinary verb, and otherwise only those with an excluded permission.
func (w *write) mode() change.Mode {
	if w.marked {
		return change.All
	}
	return change.ExcludedOnly
}

// Submitted records whether the caller edits or resets managed fields. Verify can't find that
// out, because field management has replaced the managed fields by then. If the caller sends no
// managed fields, the server keeps the stored ones; on a subresource it always does. An apply
// can't send managed fields.
func (w *write) Submitted(_ context.Context, newObj, oldObj runtime.Object) error {
	// A caller that holds the ordinary verb may edit managed fields.
	w.tampered = w.marked && w.target.Subresource == "" && tampered(newObj, oldObj)
	return nil
}

// Observe records the caller's change. It accepts objects that can't be compared: Verify refuses
// them later, so that the caller first sees the errors that upstream returns before.
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

// Verify verifies what is about to be stored. A permission must cover every field that the caller
// changed and whose stored value will change.
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
		// Upstream dropped the managed fields, because the caller made the object too large.
		w.tampered = true
	}
	asking := ctx
	if w.marked || w.everything || w.scale != nil || len(w.observed) > 0 || len(w.conversions) > 0 { // otherwise the authorizer is not asked
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
			w.askGet(asking) // Respond needs the answer, and RBAC has the bindings at hand now
		}
	}
	return nil
}

// coveredAsObserved reports whether the caller may make all observed changes, so that a
// comparison of the final objects is not needed. A scale and edited managed fields always need
// it, because the observed changes do not include them.
func (w *write) coveredAsObserved(ctx context.Context) bool {
	if w.everything || w.scale != nil || w.tampered {
		return false
	}
	return w.decider.CoveredAsObserved(ctx, w.observed, w.marked)
}

// verifyFinal compares what is about to be stored with what is stored, and verifies those changes
// that the caller made.
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

// decide returns a refusal if a change is not covered. If the authorizer failed or the request
// ended, it returns the error for the caller instead.
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

// ended returns the error for a request that ended before it was verified.
func ended() error {
	return apierrors.NewTimeoutError("the request ended before its fields were verified", 0)
}

// changes returns the changes between the stored object and the object that is about to be
// stored. For a scale it returns none unless the request is granular.
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
	// Admission may have moved an observed value to a field in which nothing was observed.
	return w.kind.compare(w.target, w.mode(), newObj, oldObj)
}

// schemaError returns why the fields of the request can't be verified, or nil. A scale needs the
// schema of the scaled resource. It needs the schema of the scale itself only if the caller lacks
// the ordinary verb.
func (w *write) schemaError() error {
	if w.scale != nil && w.scale.kind.walker == nil {
		return w.scale.kind.err
	}
	if w.kind.walker == nil && (w.scale == nil || w.marked) {
		return w.kind.err
	}
	return nil
}

// managedFields returns the change that must be covered if the caller edits managed fields.
func (w *write) managedFields() change.Change {
	return w.kind.walker.Charge("metadata", "managedFields")
}

// managedFieldsPath returns the path of the change that managedFields returns.
func (w *write) managedFieldsPath() string {
	c := w.managedFields()
	return c.Path().String()
}
