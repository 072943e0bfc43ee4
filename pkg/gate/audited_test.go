// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	gvk "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	upstreamaudit "k8s.io/apiserver/pkg/audit"
	upstream "k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/granular"
	"k8s.io/apiserver/pkg/warning"

	"kube-granular.dev/granular/overlay"
	"kube-granular.dev/granular/schema"
	ours "kube-granular.dev/pkg/audit"
)

// TestAuditMode checks that mode Audit refuses nothing, and what it reports.
func TestAuditMode(t *testing.T) {
	const entry = ".spec.destination acme.io/d excluded"
	const want = "things.example.com .spec.destination jane"
	for name, tc := range map[string]struct {
		entries            []string
		authorizer         upstream.Authorizer
		marked, dry, twice bool
		observed, final    string
		// admitted is the object after admission, final if it is empty.
		admitted string
		counted  string
	}{
		"would be refused":     {observed: moved, counted: want},
		"in two attempts":      {observed: moved, twice: true, counted: want},
		"a dry run":            {observed: moved, dry: true, counted: "-"},
		"another field":        {observed: resized},
		"the verb is held":     {observed: moved, authorizer: &grants{allow: []string{"granular:acme.io/d"}}},
		"bypassed":             {observed: moved, authorizer: &bypassing{name: thingEntries}},
		"a webhook's change":   {observed: resized, final: moved},
		"the server's change":  {observed: resized, admitted: resized, final: moved, counted: want},
		"a granular caller":    {observed: moved, marked: true, authorizer: &grants{allow: []string{"granular:specification"}}},
		"inside another":       {entries: []string{entry, ".spec.destination.server acme.io/s excluded"}, observed: moved, counted: "things.example.com .spec.destination.server jane"},
		"the field is retyped": {entries: []string{".spec.destination.server.host acme.io/h excluded"}, observed: moved, counted: "things.example.com .spec.destination.server jane"},
		"inside the entry":     {entries: []string{".spec acme.io/all excluded"}, observed: resized, counted: "things.example.com .spec jane"},
		"an element":           {entries: []string{".spec.ports[*].number acme.io/n excluded"}, observed: renumbered, counted: "things.example.com .spec.ports[*].number jane"},
		"the authorizer fails": {observed: moved, authorizer: &grants{fail: []string{"granular:acme.io/d"}}},
		"only names":           {entries: []string{".spec.destination acme.io/d"}, observed: moved},
	} {
		t.Run(name, func(t *testing.T) {
			lines := tc.entries
			if lines == nil {
				lines = []string{entry}
			}
			authorizer := tc.authorizer
			if authorizer == nil {
				authorizer = &grants{}
			}
			heard := &warned{}
			ctx := warning.WithWarningRecorder(upstreamaudit.WithAuditContext(requestContext("update")), heard)
			if tc.marked {
				ctx, _ = granular.WithMarker(ctx)
			}
			f := withEntries(entriesOf(t, thingEntries, false, lines...))
			w := New(authorizer, WithFieldPermissions(f)).Begin(ctx, customThing(t, silent))
			final := tc.final
			if final == "" {
				final = tc.observed
			}
			attempts := 1
			if tc.twice {
				attempts = 2
			}
			if w == nil && tc.entries == nil {
				t.Fatal("nothing is counted")
			}
			for range attempts {
				if w == nil {
					break
				}
				if err := w.Observe(ctx, object(t, tc.observed), object(t, before)); err != nil {
					t.Fatal(err)
				}
				if err := w.Admitted(ctx, object(t, cmp.Or(tc.admitted, final)), object(t, before)); err != nil {
					t.Fatal(err)
				}
				if err := w.Verify(ctx, object(t, final), object(t, before)); err != nil {
					t.Fatal(err)
				}
			}
			responding := ctx
			if tc.dry {
				responding = granular.WithDryRun(ctx)
			}
			grown := counted(t, func() {
				if w != nil && w.Respond(responding, object(t, final)) == nil {
					t.Error("no response")
				}
			})
			var want []string
			if tc.counted != "" && tc.counted != "-" {
				want = []string{tc.counted}
			}
			if n := grown["field_permission_audits_total"]; n != len(want) {
				t.Errorf("the metric grew by %d, wanted %d", n, len(want))
			}
			if !slices.Equal(f.counted, want) {
				t.Errorf("counted %q, wanted %q", f.counted, want)
			}
			if reported := len(*heard) == 1 && annotation(ctx, ours.WouldExcludeAnnotation) != ""; reported != (tc.counted != "") {
				t.Errorf("warned %q, audited %q", *heard, annotation(ctx, ours.WouldExcludeAnnotation))
			}
		})
	}
}

// TestAuditedWithoutTree checks which FieldPermission is counted for a kind that can't be compiled with all exclusions
// in force: the one in mode Audit, whether it is that of the resource or of pods. An enforced one refuses all writes.
func TestAuditedWithoutTree(t *testing.T) {
	deployments := gvk.GroupResource{Group: "apps", Resource: "deployments"}
	for _, enforced := range []string{"pods", "deployments.apps"} {
		own := entriesOf(t, "deployments.apps", enforced == "deployments.apps", ".spec.replicas acme.io/r excluded")
		pods := entriesOf(t, "pods", enforced == "pods", ".spec.hostNetwork acme.io/x excluded")
		w := &write{kind: &kind{added: entrySet{entries: overlay.InForce(deployments, own, pods), all: true}}}
		if got := w.refusedEntry(); got.by.Source == enforced || got.by.Enforced || got.path != schema.Pattern(nil) {
			t.Errorf("while that of %s is enforced: that of %s at %s", enforced, got.by.Source, got.path)
		}
	}
}

// TestAuditModeBesideOthers checks that what refuses for another reason still does, and that a write
// that is refused is not counted.
func TestAuditModeBesideOthers(t *testing.T) {
	author := silentExcluding(t)
	f := withEntries(entriesOf(t, thingEntries, false, ".spec.destination.server acme.io/s excluded"))
	ctx := requestContext("patch")
	w := New(&grants{}, WithFieldPermissions(f)).Begin(ctx, customThing(t, author))
	const both = `{"spec":{"size":1,"project":"a","destination":{"server":"z","zone":"z"}}}`
	const was = `{"spec":{"size":1,"project":"a","destination":{"server":"x","zone":"y"}}}`
	if err := w.Patch(ctx, types.MergePatchType, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if err := w.Submitted(ctx, object(t, both), object(t, was)); err != nil {
		t.Fatal(err)
	}
	if err := w.Observe(ctx, object(t, both), object(t, was)); err != nil {
		t.Fatal(err)
	}
	err := w.Verify(ctx, object(t, both), object(t, was))
	wantError(t, err, `needs the verb "granular:zone"`)
	if got := w.RespondError(ctx, err); got != err || len(f.counted) > 0 {
		t.Errorf("%v, counted %q", got, f.counted)
	}
}

// TestEntriesOfCreateOnUpdate checks an update that creates the object: by a caller with both verbs,
// with "granular" for the create, and with "granular" for the update.
func TestEntriesOfCreateOnUpdate(t *testing.T) {
	for name, tc := range map[string]struct {
		create, enforced, marked bool
		allow                    []string
		says                     string
		counted                  int
	}{
		"both verbs":                      {create: true, enforced: true, says: "(excluded by FieldPermission"},
		"both verbs, the permission":      {create: true, enforced: true, allow: []string{"granular:acme.io/d"}},
		"both verbs, only counted":        {create: true, counted: 1},
		"granular create":                 {enforced: true, allow: []string{"granular:specification", "granular:metadata"}, says: "(excluded by FieldPermission"},
		"granular create, the permission": {enforced: true, allow: []string{"granular:specification", "granular:metadata", "granular:acme.io/d"}},
		"granular create, only counted":   {allow: []string{"granular:specification", "granular:metadata"}, counted: 1},
		"granular update":                 {create: true, enforced: true, marked: true, allow: []string{"granular:specification"}, says: "(excluded by FieldPermission"},
		"granular update, the permission": {create: true, enforced: true, marked: true, allow: []string{"granular:acme.io/d"}},
		"granular update, in mode Audit":  {create: true, marked: true},
	} {
		t.Run(name, func(t *testing.T) {
			allow := append(slices.Clip(tc.allow), "granular")
			if tc.create {
				allow = append(allow, "create")
			}
			f := withEntries(entriesOf(t, thingEntries, tc.enforced, ".spec.destination acme.io/d excluded"))
			g, of := New(&grants{allow: allow}, WithFieldPermissions(f)), customThing(t, silent)
			ctx := requestContext("update")
			if tc.marked {
				ctx, _ = granular.WithMarker(ctx)
			}
			sent := object(t, before)
			sent.SetUID("")
			begun := g.Begin(ctx, of)
			if err := begun.Observe(ctx, sent, nil); err != nil {
				t.Fatal(err)
			}
			w, decision, _, err := g.AuthorizeCreate(ctx, of, begun, attributes("create"))
			if decision != upstream.DecisionAllow || err != nil {
				t.Fatal(decision, err)
			}
			err = w.Verify(ctx, sent, nil)
			wantError(t, err, tc.says)
			if err == nil {
				begun.Respond(context.WithoutCancel(ctx), sent) // as the handlers do
			}
			if len(f.counted) != tc.counted {
				t.Errorf("counted %q", f.counted)
			}
		})
	}
	// Without "granular" for the create it is refused as before.
	f := withEntries(entriesOf(t, thingEntries, false, ".spec.destination acme.io/d excluded"))
	g, of, ctx := New(&grants{}, WithFieldPermissions(f)), customThing(t, silent), requestContext("update")
	if w, decision, _, err := g.AuthorizeCreate(ctx, of, g.Begin(ctx, of), attributes("create")); w != nil || decision == upstream.DecisionAllow || err != nil {
		t.Error(w, decision, err)
	}
	// What the authorizer can't answer, and what is not read, is an error.
	for name, g := range map[string]*Gate{
		"the authorizer fails": New(&grants{fail: []string{"create"}}, WithFieldPermissions(f)),
		"entries are not read": New(&grants{allow: []string{"granular"}}, WithFieldPermissions(&fieldPermissions{unread: true, never: true})),
	} {
		begun := granular.Write(nil)
		if name == "the authorizer fails" {
			begun = g.Begin(ctx, of)
		}
		w, decision, _, err := g.AuthorizeCreate(ctx, of, begun, attributes("create"))
		if w != nil || decision == upstream.DecisionAllow || err == nil {
			t.Errorf("%s: %v, %v, %v", name, w, decision, err)
		}
	}
}

// TestAuditedPassesOn checks that mode Audit passes on what it is told, and the errors of the write that it
// accompanies; and that it has no errors of its own.
func TestAuditedPassesOn(t *testing.T) {
	f := withEntries(entriesOf(t, thingEntries, false, ".spec.destination acme.io/d excluded"))
	ctx := requestContext("update")
	w := New(&grants{}, WithFieldPermissions(f)).Begin(ctx, customThing(t, silent)).(*auditedWrite)
	lost := apierrors.NewInternalError(errors.New("lost"))
	for name, inner := range map[string]granular.Write{"alone": nil, "beside one that refuses": refuseAll{err: lost}} {
		w.inner = inner
		for step, err := range map[string]error{
			"Patch":     w.Patch(ctx, types.MergePatchType, []byte("{}")),
			"Submitted": w.Submitted(ctx, object(t, moved), object(t, before)),
			"Observe":   w.Observe(ctx, object(t, moved), object(t, before)),
			"Admitted":  w.Admitted(ctx, object(t, moved), object(t, before)),
			"Verify":    w.Verify(ctx, object(t, moved), object(t, before)),
		} {
			if inner == nil && err != nil || inner != nil && !errors.Is(err, lost) {
				t.Errorf("%s, %s: %v", step, name, err)
			}
		}
		if err := w.RespondError(ctx, lost); !errors.Is(err, lost) {
			t.Errorf("RespondError, %s: %v", name, err)
		}
	}
}

// TestAuditOfLatestAttempt checks that only the latest attempt of a request is counted, by what would refuse it.
func TestAuditOfLatestAttempt(t *testing.T) {
	for name, tc := range map[string]struct {
		latest runtime.Object
		want   []string
	}{
		"without the change":     {object(t, resized), nil},
		"that can't be compared": {&corev1.Pod{}, []string{"things.example.com . jane"}},
	} {
		f := withEntries(entriesOf(t, thingEntries, false, ".spec.destination acme.io/d excluded"))
		ctx := requestContext("update")
		w := New(&grants{}, WithFieldPermissions(f)).Begin(ctx, customThing(t, silent))
		if err := w.Observe(ctx, object(t, moved), object(t, before)); err != nil {
			t.Fatal(err)
		}
		for _, final := range []runtime.Object{object(t, moved), tc.latest} {
			if err := w.Verify(ctx, final, object(t, before)); err != nil {
				t.Fatal(err)
			}
		}
		if w.Respond(ctx, object(t, before)); !slices.Equal(f.counted, tc.want) {
			t.Errorf("%s: counted %q, want %q", name, f.counted, tc.want)
		}
	}
}
