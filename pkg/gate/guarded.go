// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authorization/granular"
	"k8s.io/apiserver/pkg/warning"

	"kube-granular.dev/granular/protect"
	"kube-granular.dev/pkg/audit"
)

// guarded is a Write with two parts. The part fields verifies the permissions of the changed
// fields, and the part labels then verifies protected labels and annotations. The write must pass
// both parts.
type guarded struct {
	labels *protected
	// fields is nil if no permissions of fields need to be verified.
	fields *write
}

var _ granular.Write = &guarded{}

// Patch passes the patch to the part fields. To verify protected labels and annotations the patch
// is not needed.
func (g *guarded) Patch(ctx context.Context, patchType types.PatchType, body []byte) error {
	if g.fields == nil {
		return nil
	}
	return g.fields.Patch(ctx, patchType, body)
}

// Submitted passes the objects to the part fields, which verifies managed fields.
func (g *guarded) Submitted(ctx context.Context, newObj, oldObj runtime.Object) error {
	if g.fields == nil {
		return nil
	}
	return g.fields.Submitted(ctx, newObj, oldObj)
}

// Observe passes the objects to both parts, which find and keep the caller's own change.
func (g *guarded) Observe(ctx context.Context, newObj, oldObj runtime.Object) error {
	if g.fields != nil {
		if err := g.fields.Observe(ctx, newObj, oldObj); err != nil {
			return err
		}
	}
	g.labels.observe(newObj, oldObj)
	return nil
}

// Admitted passes the objects to the part fields. The server itself sets no label or annotation of a stored
// object because of what a caller changes, but for the counter of a DaemonSet's templates.
func (g *guarded) Admitted(ctx context.Context, newObj, oldObj runtime.Object) error {
	if g.fields == nil {
		return nil
	}
	return g.fields.Admitted(ctx, newObj, oldObj)
}

// Verify verifies newObj, which is about to be stored, by both parts.
func (g *guarded) Verify(ctx context.Context, newObj, oldObj runtime.Object) error {
	if g.fields != nil {
		if err := g.fields.Verify(ctx, newObj, oldObj); err != nil {
			return err
		}
	}
	err := g.labels.verify(ctx, g.fields, newObj, oldObj)
	if err != nil && g.fields != nil {
		g.fields.marker.Reset()
		g.fields.refusedBeside(err)
	}
	return err
}

// refusedBeside replaces the verdict of the write, which accepted the fields, by err: a refusal
// because of protected labels and annotations.
func (w *write) refusedBeside(err error) {
	w.settle(&verdict{err: err, calls: w.adapter.calls})
}

// Respond reports changes of protected labels and annotations that were allowed only because the
// mode of the protection is Audit (see finish). It returns the result as the part fields shows it
// to the caller.
func (g *guarded) Respond(ctx context.Context, result runtime.Object) runtime.Object {
	g.labels.finish(ctx)
	if g.fields == nil {
		return result
	}
	return g.fields.Respond(ctx, result)
}

// RespondError writes to the audit log which roles or verbs would have admitted the caller to a
// refused label or annotation. It returns the error that the caller gets: what
// g.fields, which redacts errors, makes of err.
func (g *guarded) RespondError(ctx context.Context, err error) error {
	if last := g.labels.outcome.Load(); last != nil && len(last.missing) > 0 && errors.Is(err, last.err) {
		audit.Missing(ctx, last.missing...)
	}
	if g.fields == nil {
		return err
	}
	return g.fields.RespondError(ctx, err)
}

// maxWarnings limits the warnings to a caller. It is the highest number of changes with a warning
// of their own, and the highest number of ProtectedAttribute objects in one warning.
const maxWarnings = 5

// finish reports the changes of labels and annotations that were allowed only because the
// ProtectedAttribute objects that protect them have the mode Audit. It warns the caller, writes
// the changes to the audit log, and counts the request, unless it is a dry run, for each object. A
// warning does not name the keys that the caller must not learn.
func (p *protected) finish(ctx context.Context) {
	last := p.outcome.Load()
	if last == nil || len(last.findings) == 0 {
		return
	}
	found := make([]string, 0, len(last.findings))
	shown := len(last.findings) - last.hidden
	for i := range last.findings {
		f := &last.findings[i]
		found = append(found, fmt.Sprintf("%s:%s", f.Attribute.String(), strings.Join(f.Entries, ",")))
		if i < min(shown, maxWarnings) {
			warning.AddWarning(ctx, "", fmt.Sprintf("%s is a protected %s: this change would be refused if %s were enforced",
				f.Attribute.String(), kindName(f.Attribute.Kind), strings.Join(head(f.Entries, maxWarnings), ", ")))
		}
	}
	if left := shown - maxWarnings; left > 0 {
		warning.AddWarning(ctx, "", fmt.Sprintf("changes of %d other protected labels and annotations would be refused too", left))
	}
	if last.hidden > 0 {
		warning.AddWarning(ctx, "", "this changes protected labels or annotations that the request does not name, which would be refused if their attributes were enforced")
	}
	audit.WouldRefuse(ctx, found)
	if !granular.IsDryRun(ctx) { // a dry run stores nothing
		p.count(last.findings)
	}
}

// counter is implemented by a Protection that counts violations: for each ProtectedAttribute
// object, the requests that the object would have refused if its mode were Enforce.
type counter interface {
	CountViolations(namespace string, attributes ...string)
}

// count counts the request once for each ProtectedAttribute object in findings: those that would
// have refused the request if their mode were Enforce.
func (p *protected) count(findings []protect.Finding) {
	sink, ok := p.gate.protection.(counter)
	if !ok {
		return
	}
	counted := map[[2]string]bool{}
	for _, f := range findings {
		for _, name := range f.Entries {
			if id := [2]string{f.Namespace, name}; !counted[id] {
				counted[id] = true
				sink.CountViolations(f.Namespace, name)
			}
		}
	}
}

func head(names []string, limit int) []string {
	if len(names) <= limit {
		return names
	}
	return append(slices.Clone(names[:limit]), fmt.Sprintf("%d others", len(names)-limit))
}
