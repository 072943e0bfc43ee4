// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"errors"
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

// write verifies the fields that one request changes. The storage can attempt the write several
// times, for example if the stored object changes meanwhile. In each attempt the caller's change
// is observed anew. The answers of the authorizer are kept for all attempts.
type write struct {
	requestInfo
	gate  *Gate
	kind  *kind
	scale *scale
	// conversions are the other versions of the kind in which the write is verified too.
	conversions []conversion
	// stored verifies the write in the version in which the object is stored.
	stored storedForm
	// marker is the mark of a granular request, whose caller lacks the ordinary verb. It is nil
	// for all other requests. It is also nil if the caller holds the verb update, but only
	// "granular" for the create that the update implies.
	marker *granular.Marker
	// recorded is set if tracing records the spans of this request.
	recorded bool

	// own has the answers for this write, unless questions is that of another write of the request.
	own questions
	*questions
	callerChange
	response
	creation
}

var _ granular.Write = &write{}

func newWrite(ctx context.Context, gate *Gate, target granular.Target, kind *kind, attributes upstream.Attributes, marker *granular.Marker) *write {
	w := &write{
		requestInfo: requestInfo{target: target, attributes: attributes, marked: marker != nil},
		gate:        gate,
		kind:        kind,
		scale:       scaleOf(target, kind.added),
		conversions: conversionsOf(target, kind.added),
		stored:      storedOf(target, marker != nil, kind.added),
		marker:      marker,
		recorded:    trace.SpanFromContext(ctx).IsRecording(),
		own:         questions{adapter: authorizerAdapter{authorizer: gate.Authorizer, attributes: attributes}},
	}
	w.questions = &w.own
	w.decider = *decide.New(&w.adapter, decide.DefaultBudget)
	return w
}

// mode returns which fields are compared. For a marked request, whose caller lacks the ordinary
// verb, these are all fields. For any other request they are the fields with an excluded
// permission.
func (w *write) mode() change.Mode {
	if w.marked {
		return change.All
	}
	return change.ExcludedOnly
}

// Submitted finds out whether the caller edits or resets metadata.managedFields. newObj is the
// object as the caller sent it. Verify can't find that out, because by then upstream's field
// management has replaced the managed fields. A write through a subresource never edits them:
// there the server keeps the stored ones. An apply can't send managed fields.
func (w *write) Submitted(_ context.Context, newObj, oldObj runtime.Object) error {
	// A caller that holds the ordinary verb may edit managed fields.
	w.tampered = w.marked && w.target.Subresource == "" && tampered(newObj, oldObj)
	return nil
}

// Observe finds and keeps the caller's own change, before mutating admission changes the object.
// If the objects can't be compared, it returns no error. Verify refuses the write later, so that
// the caller first sees the errors that upstream returns in between.
func (w *write) Observe(ctx context.Context, newObj, oldObj runtime.Object) error {
	ctx, step := w.begin(ctx, "Observe granular change")
	defer func() { metrics.Observed(w.traced(ctx), step.end(ctx)) }()
	w.keep(w.kind.compare(w.target, w.mode(), newObj, oldObj))
	if w.marked {
		w.seen = &pair{newObj, oldObj}
	}
	w.admitted = admitted{} // that of an earlier attempt proves nothing
	w.owned = w.owned || w.marked && hasManagedFields(newObj)
	if w.scale != nil {
		w.scale.observe(newObj, oldObj)
	}
	if len(w.conversions) > 0 || w.stored.by != nil {
		own := w.stored.ownObject(newObj, oldObj, w.target.Subresource)
		w.observeConverted(own, oldObj)
		w.stored.observe(own, w.scale != nil)
	}
	w.createRefused.Store(false)
	return w.observeCreate(ctx, newObj, oldObj)
}

// Verify verifies newObj, the object that is about to be stored. A permission of the caller must
// cover each field that the caller changed and whose stored value is about to change. If the
// caller holds the ordinary verb, that is required only for fields with an excluded permission. A
// field with an excluded permission that the server itself changes counts as the caller's change.
func (w *write) Verify(ctx context.Context, newObj, oldObj runtime.Object) error {
	ctx, step := w.begin(ctx, "Verify granular change")
	w.missing, w.seen = nil, nil
	err := w.verify(ctx, newObj, oldObj)
	w.settle(&verdict{err: err, missing: w.missing, calls: w.adapter.calls})
	w.verified(ctx, step.end(ctx), newObj, err)
	if w.unanswered {
		w.finish(ctx, err)
	}
	return err
}

func (w *write) verify(ctx context.Context, newObj, oldObj runtime.Object) error {
	if failed := w.unverifiable(); failed != nil {
		return w.unverified(ctx, failed, failed.err, newObj)
	}
	if w.owned && hasManagedFields(oldObj) && !hasManagedFields(newObj) {
		// Upstream dropped the managed fields, because the caller made the object too large. So
		// the caller has reset them.
		w.tampered = true
	}
	asking := ctx
	if w.marked || !w.known || w.scale != nil || len(w.observed) > 0 || len(w.conversions) > 0 || w.stored.partial { // otherwise the authorizer is not asked
		asking, w.query = rbacindex.ForMore(ctx, w.attributes, w.query)
	}
	if !w.coveredAsObserved(asking) {
		if err := w.verifyFinal(asking, newObj, oldObj); err != nil {
			return err
		}
	}
	if err := w.verifyDerived(asking, newObj, oldObj); err != nil {
		return err
	}
	resource, old, err := w.resource(ctx, newObj, oldObj)
	if err != nil {
		return err
	}
	if err := w.verifyStored(asking, resource, old); err != nil {
		return err
	}
	if err := w.verifyConverted(asking, resource, old); err != nil {
		return err
	}
	if w.marker != nil {
		w.marker.SetVerified()
		if shown := w.answered(); shown.readable.Load() == nil {
			shown.askGet(asking) // Respond needs the answer, and RBAC has the bindings at hand now
		}
	}
	return nil
}

// coveredAsObserved reports whether the changes that were observed before mutating admission are
// enough to allow what the caller itself changed, so that these changes need not be looked for in
// the object to be stored. It returns false for a scale, and if the caller edited managed fields,
// because the observed changes do not include these.
func (w *write) coveredAsObserved(ctx context.Context) bool {
	if !w.known || w.scale != nil || w.tampered {
		return false
	}
	return w.decider.CoveredAsObserved(ctx, w.observed, w.marked)
}

// verifyFinal compares newObj, which is about to be stored, with oldObj, which is stored. Of the
// changes between them it verifies those that the caller made.
func (w *write) verifyFinal(ctx context.Context, newObj, oldObj runtime.Object) error {
	if ctx.Err() != nil {
		return ended() // before the objects are compared again
	}
	changes, err := w.changes(newObj, oldObj)
	if errors.Is(err, errAnnotationBacked) {
		return w.unverified(ctx, w.kind, err, newObj)
	}
	if err != nil {
		return w.forbidden(newObj, fmt.Errorf("its fields can't be verified: %w", err))
	}
	changes = w.intersect(changes, change.Answerable)
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

// decide returns the refusal of the first change that no permission of the caller covers, or nil
// if all changes are covered. If the authorizer failed or the request ended, decide returns an
// error that the caller is to see.
func (w *write) decide(ctx context.Context, changes change.Set, marked bool, newObj runtime.Object) (*decide.Refusal, error) {
	refusal, err := w.decider.Decide(ctx, changes, marked)
	if err == nil && refusal != nil && refusal.ByEntry() {
		refusal, err = w.exempted(ctx, refusal, changes, marked)
	}
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

// changes returns the changes from oldObj, which is stored, to newObj, which is about to be
// stored. If the object is a scale and the caller holds the ordinary verb, it returns none: then
// the fields of the scale itself are not verified, only the field of the scaled resource.
func (w *write) changes(newObj, oldObj runtime.Object) (change.Set, error) {
	if w.scale != nil && !w.marked {
		return nil, nil
	}
	if !w.known {
		return w.kind.compare(w.target, w.mode(), newObj, oldObj)
	}
	changes, err := w.kind.compareObserved(w.target, w.mode(), w.observed, newObj, oldObj)
	if err != nil || !change.Dropped(w.observed, changes) {
		return changes, err
	}
	// Admission may have moved an observed value to a field in which nothing was observed.
	return w.kind.compare(w.target, w.mode(), newObj, oldObj)
}

// unverifiable returns a kind without a permission tree, if the verification needs the tree. A write to a scale needs the tree of the scaled resource. It needs the
// tree of the kind Scale itself only if the caller lacks the ordinary verb. Any other write needs
// the tree of its kind.
func (w *write) unverifiable() *kind {
	if w.scale != nil && w.scale.kind.walker == nil {
		return w.scale.kind
	}
	if w.kind.walker == nil && (w.scale == nil || w.marked) {
		return w.kind
	}
	return nil
}

// managedFields returns the change of metadata.managedFields, which a permission must cover if the
// caller edits managed fields.
func (w *write) managedFields() change.Change {
	return w.kind.walker.Charge("metadata", "managedFields")
}

// managedFieldsPath returns the path of the change that managedFields returns.
func (w *write) managedFieldsPath() string {
	c := w.managedFields()
	return c.Path().String()
}
