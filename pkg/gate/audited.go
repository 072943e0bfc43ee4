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

	"kube-granular.dev/granular/overlay"
	"kube-granular.dev/granular/schema"
	"kube-granular.dev/pkg/audit"
	"kube-granular.dev/pkg/metrics"
)

// auditedWrite is a Write of a caller with the ordinary verb, for entries in mode Audit. After the
// write was verified, it is verified again as in mode Enforce. What would then be refused is only
// reported.
type auditedWrite struct {
	// inner is nil if nothing else needs to be verified.
	inner granular.Write
	// enforced verifies the write as in mode Enforce.
	enforced *write
	// found is what would have refused the latest attempt. It is nil if nothing would. The Write of an
	// implied create shares it, because the Write that was begun responds.
	found *atomic.Pointer[wouldRefuse]
}

// wouldRefuse is an entry that would refuse a write.
type wouldRefuse struct {
	// path is that of the entry, or of a field around it.
	path string
	// by has the entries of its FieldPermission.
	by *overlay.Entries
}

var _ granular.Write = &auditedWrite{}

// beginAudit adds the verification as in mode Enforce to a Write, which may be nil.
func (g *Gate) beginAudit(ctx context.Context, target granular.Target, added entrySet, inner granular.Write) granular.Write {
	known := knownKind{added: entrySet{entries: added.entries, all: true}}
	if nothingToCheck(target, &known) {
		return inner
	}
	enforced, err := g.begin(ctx, target, known.find(target), nil)
	if err != nil {
		klog.FromContext(ctx).Error(err, "Unable to count what a FieldPermission would refuse", "fieldPermission", added.entries.Source)
		return inner
	}
	return &auditedWrite{inner: inner, enforced: enforced, found: &atomic.Pointer[wouldRefuse]{}}
}

// with returns the Write of a create that the write implies, with the same verification as in mode
// Enforce. If the create is not allowed, there is none.
func (a *auditedWrite) with(inner granular.Write, allowed bool) granular.Write {
	if !allowed {
		return nil
	}
	return &auditedWrite{inner: inner, enforced: a.enforced, found: a.found}
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

// Admitted passes the objects on, and to the verification as in mode Enforce.
func (a *auditedWrite) Admitted(ctx context.Context, newObj, oldObj runtime.Object) error {
	if a.inner != nil {
		if err := a.inner.Admitted(ctx, newObj, oldObj); err != nil {
			return err
		}
	}
	if err := a.enforced.Admitted(ctx, newObj, oldObj); err != nil {
		a.enforced.admitted = admitted{}
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
		a.found.Store(a.enforced.refusedEntry())
	default:
		klog.FromContext(ctx).V(2).Info("Unable to count what a FieldPermission would refuse", a.enforced.logFields(newObj, "reason", err.Error())...)
	}
	return nil
}

// refusedEntry returns the entry because of which the write was refused. Its path has no keys. If the
// entry holds at a field around its path, it is the path of that field; if the kind could not be
// compiled, it is the path of the root.
func (w *write) refusedEntry() *wouldRefuse {
	added := w.kind.added
	if w.refusal == nil {
		out := &wouldRefuse{schema.Pattern(nil), added.entries}
		for _, origin := range added.origins() {
			if !origin.Enforced { // an enforced one has refused the write already
				out.by = origin
			}
		}
		return out
	}
	var way []schema.Step
	for _, step := range w.refusal.Change.Path() {
		way = append(way, schema.Step{Field: step.Field, Elem: step.Field == ""})
	}
	out := &wouldRefuse{schema.Pattern(way), added.origin(w.refusal.Embedded())}
	if f := added.entries.Around(way, w.refusal.Embedded()); f != nil {
		out.path = f.Path.String()
	}
	return out
}

// Respond reports what mode Enforce would have refused: in a warning, in the audit log and, unless
// the request is a dry run, by a count.
func (a *auditedWrite) Respond(ctx context.Context, result runtime.Object) runtime.Object {
	if found := a.found.Load(); found != nil {
		warning.AddWarning(ctx, "", fmt.Sprintf("%s: this change would be refused if FieldPermission %s were enforced", found.path, found.by.Source))
		audit.WouldExclude(ctx, found.by.Source, found.path)
		if !granular.IsDryRun(ctx) { // a dry run stores nothing
			metrics.FieldPermissionAudit()
			a.enforced.gate.fields.Counted(found.by, found.path, a.enforced.user())
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
