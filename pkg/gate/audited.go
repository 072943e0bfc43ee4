// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"fmt"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authorization/granular"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/klog/v2"

	"kube-granular.dev/granular/schema"
	"kube-granular.dev/pkg/audit"
)

// auditedWrite is a Write of a caller with the ordinary verb, for entries in mode Audit. After the
// write was verified, it is verified again as in mode Enforce. What would then be refused is only
// reported.
type auditedWrite struct {
	// inner is nil if nothing else needs to be verified.
	inner granular.Write
	// enforced verifies the write as in mode Enforce.
	enforced *write
	// found is the path of the entry that would have refused the latest attempt, or of a field around
	// it. It is nil if none would.
	found atomic.Pointer[string]
}

var _ granular.Write = &auditedWrite{}

// beginAudit adds the verification as in mode Enforce to a Write, which may be nil.
func (g *Gate) beginAudit(ctx context.Context, target granular.Target, added entrySet, inner granular.Write) granular.Write {
	known := knownKind{added: entrySet{entries: added.entries, enforced: true}}
	if nothingToCheck(target, &known) {
		return inner
	}
	enforced, err := g.begin(ctx, target, known.find(target), nil)
	if err != nil {
		klog.FromContext(ctx).Error(err, "Unable to count what a FieldPermission would refuse", "fieldPermission", added.entries.Source)
		return inner
	}
	return &auditedWrite{inner: inner, enforced: enforced}
}

// with returns the Write of a create that the write implies, with the same verification as in mode
// Enforce. If the create is not allowed, there is none.
func (a *auditedWrite) with(inner granular.Write, allowed bool) granular.Write {
	if !allowed {
		return nil
	}
	return &auditedWrite{inner: inner, enforced: a.enforced}
}

// Patch passes the patch on.
func (a *auditedWrite) Patch(ctx context.Context, patchType types.PatchType, body []byte) error {
	if a.inner == nil {
		return nil
	}
	return a.inner.Patch(ctx, patchType, body)
}

// Submitted passes the objects on.
func (a *auditedWrite) Submitted(ctx context.Context, newObj, oldObj runtime.Object) error {
	if a.inner == nil {
		return nil
	}
	return a.inner.Submitted(ctx, newObj, oldObj)
}

// Observe passes the objects on, and finds the caller's own change as in mode Enforce.
func (a *auditedWrite) Observe(ctx context.Context, newObj, oldObj runtime.Object) error {
	if a.inner != nil {
		if err := a.inner.Observe(ctx, newObj, oldObj); err != nil {
			return err
		}
	}
	if err := a.enforced.Observe(ctx, newObj, oldObj); err != nil {
		a.enforced.known = false
	}
	return nil
}

// Verify verifies the write. If it is allowed, Verify then finds out what mode Enforce would refuse.
func (a *auditedWrite) Verify(ctx context.Context, newObj, oldObj runtime.Object) error {
	a.found.Store(nil)
	if a.inner != nil {
		if err := a.inner.Verify(ctx, newObj, oldObj); err != nil {
			return err
		}
	}
	a.enforced.refusal = nil
	err := a.enforced.verify(ctx, newObj, oldObj)
	switch {
	case err == nil:
	case apierrors.IsForbidden(err):
		path := a.enforced.refusedEntry()
		a.found.Store(&path)
	default:
		klog.FromContext(ctx).V(2).Info("Unable to count what a FieldPermission would refuse", a.enforced.logFields(newObj, "reason", err.Error())...)
	}
	return nil
}

// refusedEntry returns the path of the entry because of which the write was refused. It has no keys.
// If the entry holds at a field around its path, it is the path of that field; if the kind could not
// be compiled, it is the path of the root.
func (w *write) refusedEntry() string {
	if w.refusal == nil {
		return schema.Pattern(nil)
	}
	var way []schema.Step
	for _, step := range w.refusal.Change.Path() {
		way = append(way, schema.Step{Field: step.Field, Elem: step.Field == ""})
	}
	if f := w.kind.added.entries.Around(way); f != nil {
		return f.Path.String()
	}
	return schema.Pattern(way)
}

// Respond reports what mode Enforce would have refused: in a warning, in the audit log and, unless
// the request is a dry run, by a count.
func (a *auditedWrite) Respond(ctx context.Context, result runtime.Object) runtime.Object {
	if path := a.found.Load(); path != nil {
		entries := a.enforced.kind.added.entries
		warning.AddWarning(ctx, "", fmt.Sprintf("%s: this change would be refused if FieldPermission %s were enforced", *path, entries.Source))
		audit.WouldExclude(ctx, entries.Source, *path)
		if !granular.IsDryRun(ctx) { // a dry run stores nothing
			a.enforced.gate.fields.Counted(entries, *path, a.enforced.user())
		}
	}
	if a.inner == nil {
		return result
	}
	return a.inner.Respond(ctx, result)
}

// RespondError passes the error on.
func (a *auditedWrite) RespondError(ctx context.Context, err error) error {
	if a.inner == nil {
		return err
	}
	return a.inner.RespondError(ctx, err)
}
