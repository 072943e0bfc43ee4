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

	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/protect"
	"kube-granular.dev/pkg/audit"
)

// guarded is a Write that verifies protected labels and annotations. If the other fields of the
// request are verified too, it verifies them first. A granular request (whose caller lacks the
// ordinary verb) must pass both.
type guarded struct {
	labels *protected
	// fields is nil if no other fields are verified.
	fields *write
}

var _ granular.Write = &guarded{}

// Patch passes the patch to fields. Protected labels and annotations need no patch of their own.
func (g *guarded) Patch(ctx context.Context, patchType types.PatchType, body []byte) error {
	if g.fields == nil {
		return nil
	}
	return g.fields.Patch(ctx, patchType, body)
}

// Submitted passes the objects to fields.
func (g *guarded) Submitted(ctx context.Context, newObj, oldObj runtime.Object) error {
	if g.fields == nil {
		return nil
	}
	return g.fields.Submitted(ctx, newObj, oldObj)
}

// Observe records the caller's change.
func (g *guarded) Observe(ctx context.Context, newObj, oldObj runtime.Object) error {
	if g.fields != nil {
		if err := g.fields.Observe(ctx, newObj, oldObj); err != nil {
			return err
		}
	}
	g.labels.observe(newObj, oldObj)
	return nil
}

// Verify verifies what is about to be stored.
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

// refusedBeside makes err, a refusal because of protected labels and annotations, the verdict of
// the write.
func (w *write) refusedBeside(err error) {
	w.verdict.Store(&verdict{err: err, calls: w.adapter.calls})
}

// Respond reports the changes that mode Audit let pass (see finish), and returns the result that
// fields returns.
func (g *guarded) Respond(ctx context.Context, result runtime.Object) runtime.Object {
	g.labels.finish(ctx)
	if g.fields == nil {
		return result
	}
	return g.fields.Respond(ctx, result)
}

// RespondError records in the audit log which roles or verbs would have admitted the caller, and
// returns the error that fields returns.
func (g *guarded) RespondError(ctx context.Context, err error) error {
	if last := g.labels.outcome.Load(); last != nil && len(last.missing) > 0 && errors.Is(err, last.err) {
		audit.Missing(ctx, last.missing...)
	}
	if g.fields == nil {
		return err
	}
	return g.fields.RespondError(ctx, err)
}

// maxWarnings is the number of changes that a caller is warned of, and of ProtectedAttribute
// objects that one warning names.
const maxWarnings = 5

// finish reports the changes that would have been refused if the entries with mode Audit were
// enforced. It warns the caller, writes them to the audit log, and counts them.
func (p *protected) finish(ctx context.Context) {
	last := p.outcome.Load()
	if last == nil || len(last.findings) == 0 {
		return
	}
	found := make([]string, 0, len(last.findings))
	for i := range last.findings {
		f := &last.findings[i]
		found = append(found, fmt.Sprintf("%s:%s", f.Attribute.String(), strings.Join(f.Entries, ",")))
		if i < maxWarnings {
			warning.AddWarning(ctx, "", fmt.Sprintf("%s is a protected %s: this change would be refused if %s were enforced",
				f.Attribute.String(), kindName(f.Attribute.Kind), strings.Join(head(f.Entries, maxWarnings), ", ")))
		}
	}
	if left := len(last.findings) - maxWarnings; left > 0 {
		warning.AddWarning(ctx, "", fmt.Sprintf("changes of %d other protected labels and annotations would be refused too", left))
	}
	audit.WouldRefuse(ctx, found)
	if !granular.IsDryRun(ctx) { // a dry run stores nothing
		p.count(last.findings)
	}
}

// counter is implemented by a Protection that counts, for each ProtectedAttribute object, the
// requests that its enforcement would have refused.
type counter interface {
	CountViolations(namespace string, attributes ...string)
}

// count counts the request once for each ProtectedAttribute object that would have refused it.
func (p *protected) count(findings []protect.Finding) {
	to, ok := p.gate.protection.(counter)
	if !ok {
		return
	}
	counted := map[[2]string]bool{}
	for _, f := range findings {
		for _, name := range f.Entries {
			if id := [2]string{f.Namespace, name}; !counted[id] {
				counted[id] = true
				to.CountViolations(f.Namespace, name)
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

// knownFirst splits the changes of a granular request whose caller may not get the object: known
// are those whose keys are in the request. For any other request all changes are known.
// write.knownFirst does the same for other fields.
func (p *protected) knownFirst(ctx context.Context, fields *write, changed change.Attributes) (known, unknown change.Attributes) {
	if fields == nil || !fields.marked {
		return changed, nil
	}
	for i := range changed {
		if p.inRequest(fields, &changed[i]) {
			known = append(known, changed[i])
		} else {
			unknown = append(unknown, changed[i])
		}
	}
	if len(unknown) == 0 || fields.mayGet(ctx) {
		return changed, nil
	}
	return known, unknown
}

// inRequest reports whether the request contains the key of an attribute, and the keys of the
// elements on its path.
func (p *protected) inRequest(fields *write, a *change.Attribute) bool {
	if fields.patch == nil {
		return slices.ContainsFunc(p.observed, func(o change.Attribute) bool {
			return o.New.Present && o.Kind == a.Kind && o.String() == a.String()
		})
	}
	for _, s := range a.Path {
		if slices.ContainsFunc(s.Keys, func(key string) bool { return !fields.patch.Has(key) }) {
			return false
		}
	}
	return a.Unreadable || fields.patch.Has(a.Key)
}
