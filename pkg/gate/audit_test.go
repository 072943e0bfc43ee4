// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gvk "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/apis/audit"
	upstreamaudit "k8s.io/apiserver/pkg/audit"
	upstream "k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/granular"

	ours "kube-granular.dev/pkg/audit"
	"kube-granular.dev/pkg/gate/redact"
)

// audited returns the context of a marked request with an audit event.
func audited(t *testing.T, verb string) context.Context {
	t.Helper()
	ctx := upstreamaudit.WithAuditContext(requestContext(verb))
	if err := upstreamaudit.AuditContextFrom(ctx).Init(upstreamaudit.RequestAuditConfig{Level: audit.LevelMetadata}, nil); err != nil {
		t.Fatal(err)
	}
	marked, _ := granular.WithMarker(ctx)
	return marked
}

func annotation(ctx context.Context, name string) string {
	value, _ := upstreamaudit.AuditContextFrom(ctx).GetEventAnnotation(name)
	return value
}

// TestMarkIsAudited checks that the audit log shows which requests were allowed only because
// their caller holds "granular", including updates that become a create.
func TestMarkIsAudited(t *testing.T) {
	for _, held := range []bool{true, false} {
		g := &grants{}
		want := ""
		if held {
			g.allow, want = []string{"granular"}, "true"
		}
		filter, create := audited(t, "update"), audited(t, "update")
		if marked, _, _, err := New(g).Fallback(filter, attributes("update")); err != nil || annotation(marked, ours.MarkedAnnotation) != want {
			t.Errorf("holds granular: %t, marked: %q, %v", held, annotation(marked, ours.MarkedAnnotation), err)
		}
		_, decision, _, err := New(g).AuthorizeCreate(create, target(t, strings.Replace(things, "EXCLUDED", "true", 1)), nil, attributes("create"))
		if err != nil || (decision == upstream.DecisionAllow) != held || annotation(create, ours.MarkedAnnotation) != want {
			t.Errorf("create, holds granular: %t, marked: %q, %v", held, annotation(create, ours.MarkedAnnotation), err)
		}
	}
}

// TestMissingIsAudited checks that the audit log names the verbs that a refused caller lacks, but
// only if the request failed for that reason. For a request that succeeds it names the verbs that
// were used.
func TestMissingIsAudited(t *testing.T) {
	of := target(t, strings.Replace(things, "EXCLUDED", "true", 1))
	conflict := apierrors.NewConflict(of.Resource.GroupResource(), "t", errors.New("modified"))
	for name, tc := range map[string]struct {
		allow   []string
		final   string
		ends    func(err error) error
		missing string
		used    string
	}{
		"refused":           {missing: "granular:size granular:specification"},
		"refused, one verb": {final: trigger, missing: "granular:trigger"},
		"refused, no verb":  {final: withData},
		"refused, said with more": {ends: func(err error) error { return errors.Join(errors.New("while writing"), err) },
			missing: "granular:size granular:specification"},
		"refused, then a conflict": {ends: func(error) error { return conflict }},
		"allowed, then a conflict": {allow: []string{"granular:size"}, ends: func(error) error { return conflict }},
		"served":                   {allow: []string{"granular:size"}, used: "granular:size"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := audited(t, "update")
			w := New(&grants{allow: tc.allow}).Begin(ctx, of)
			if tc.final == "" {
				tc.final = larger
			}
			if err := w.Observe(ctx, object(t, tc.final), object(t, plain)); err != nil {
				t.Fatal(err)
			}
			err := w.Verify(ctx, object(t, tc.final), object(t, plain))
			if tc.ends != nil {
				err = tc.ends(err)
			}
			if err == nil {
				w.Respond(ctx, object(t, larger))
			} else {
				_ = w.RespondError(ctx, err)
			}
			got, said := upstreamaudit.AuditContextFrom(ctx).GetEventAnnotation(ours.MissingAnnotation)
			if got != tc.missing || said != (tc.missing != "") {
				t.Errorf("missing %q, %t, wanted %q", got, said, tc.missing)
			}
			if got := annotation(ctx, ours.PermissionsAnnotation); got != tc.used {
				t.Errorf("used %q, wanted %q", got, tc.used)
			}
		})
	}
}

// TestPatchIsExplained checks that the refusal of a copy names the object and the missing verb
// get, and that the audit log names the verb too.
func TestPatchIsExplained(t *testing.T) {
	ctx := audited(t, "patch")
	of := target(t, strings.Replace(things, "EXCLUDED", "true", 1))
	w := New(&grants{}).Begin(ctx, of)
	err := w.Patch(ctx, types.JSONPatchType, []byte(`[{"op":"copy","from":"/data","path":"/a"}]`))
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `things.example.com "t"`) || !strings.Contains(err.Error(), `needs the verb "get"`) {
		t.Fatal(err)
	}
	if told := w.RespondError(ctx, err); told != err {
		t.Errorf("the caller sees %v", told)
	}
	if got := annotation(ctx, ours.MissingAnnotation); got != "get" {
		t.Errorf("missing %q", got)
	}
}

// TestCreatedIsNamed checks that a refusal names the object by the name in the request. A create
// by POST has none; then the refusal has the name in the body.
func TestCreatedIsNamed(t *testing.T) {
	ctx := requestContext("create")
	for name, want := range map[string]string{"": `things.example.com "t"`, "asked": `things.example.com "asked"`} {
		a := attributes("create")
		a.Name = name
		marked, _ := granular.WithMarker(ctx)
		gate := New(&grants{})
		of := target(t, strings.Replace(things, "EXCLUDED", "true", 1))
		w := newWrite(marked, gate, of, kindOf(of), a, granular.MarkerFrom(marked))
		created := object(t, plain)
		created.SetUID("")
		judged(t, verify(t, w, marked, created, nil), nil, want)
		if got := w.name(nil); got != name {
			t.Errorf("without an object it is %q", got)
		}
		if got := w.name(&metav1.Status{}); got != name {
			t.Errorf("of what has no name it is %q", got)
		}
	}
}

// TestIdentityOfWhatHasNone checks that a caller that may not get the object sees nothing of a
// result without metadata.
func TestIdentityOfWhatHasNone(t *testing.T) {
	ctx, _ := granular.WithMarker(requestContext("update"))
	w := New(&grants{}).Begin(ctx, target(t, strings.Replace(things, "EXCLUDED", "true", 1)))
	shown := w.Respond(ctx, &metav1.Status{Message: "secret", Details: &metav1.StatusDetails{Name: "secret"}})
	if status, ok := shown.(*metav1.Status); !ok || status.Status != metav1.StatusSuccess || status.Message != "" || status.Details != nil {
		t.Errorf("shown is %v", shown)
	}
}

// TestIdentity checks which fields a caller sees that may not get the object, for custom
// resources and for Go types.
func TestIdentity(t *testing.T) {
	full := keeping("a", "x")
	full.SetGroupVersionKind(thing)
	full.Namespace, full.ResourceVersion, full.Data = "n", "7", "secret"
	got, ok := redact.Identity(full).(*keeper)
	if !ok || got.Name != "t" || got.Namespace != "n" || got.UID != "1" || got.ResourceVersion != "7" || got.GroupVersionKind() != thing {
		t.Errorf("identity is lost: %+v", got)
	}
	if ok && (got.Data != "" || got.kept != "" || len(got.Annotations) > 0) {
		t.Errorf("more than identity: %+v", got)
	}
}

// TestNothingIsAskedTwice checks that the verb get is checked once for a request, whichever step
// needs it first.
func TestNothingIsAskedTwice(t *testing.T) {
	g := &grants{allow: []string{"granular:size", "get"}}
	ctx, _ := granular.WithMarker(requestContext("patch"))
	w := New(g).Begin(ctx, target(t, strings.Replace(things, "EXCLUDED", "true", 1)))
	if err := w.Patch(ctx, types.JSONPatchType, []byte(`[{"op":"copy","from":"/data","path":"/a"},{"op":"move","from":"/data","path":"/b"}]`)); err != nil {
		t.Fatal(err)
	}
	if err := w.Observe(ctx, object(t, larger), object(t, plain)); err != nil {
		t.Fatal(err)
	}
	judged(t, w.Verify(ctx, object(t, larger), object(t, plain)), granular.MarkerFrom(ctx), "")
	w.Respond(ctx, object(t, larger))
	if want := []string{"get", "granular:specification", "granular:size"}; !slices.Equal(g.asked, want) {
		t.Errorf("asked %q, wanted %q", g.asked, want)
	}
}

// TestRefusedCreateIsShown checks that upstream's refusal of the create that an update implies is
// shown unchanged. In a later attempt that is no create, such an error is hidden.
func TestRefusedCreateIsShown(t *testing.T) {
	of := target(t, strings.Replace(things, "EXCLUDED", "true", 1))
	ctx, _ := granular.WithMarker(requestContext("update"))
	gate := New(&grants{})
	w := gate.Begin(ctx, of)
	refused := apierrors.NewForbidden(gvk.GroupResource{Group: "example.com", Resource: "things"}, "t", errors.New("secret"))
	if hidden := w.RespondError(ctx, refused); strings.Contains(hidden.Error(), "secret") {
		t.Errorf("shown before anything was refused: %v", hidden)
	}
	if _, _, _, err := gate.AuthorizeCreate(ctx, of, w, attributes("create")); err != nil {
		t.Fatal(err)
	}
	if shown := w.RespondError(ctx, refused); shown.Error() != refused.Error() {
		t.Errorf("hidden: %v", shown)
	}
	if bad := w.RespondError(ctx, apierrors.NewBadRequest("secret")); strings.Contains(bad.Error(), "secret") {
		t.Errorf("shown with it: %v", bad)
	}
	if err := w.Observe(ctx, object(t, larger), object(t, plain)); err != nil {
		t.Fatal(err)
	}
	if hidden := w.RespondError(ctx, refused); strings.Contains(hidden.Error(), "secret") {
		t.Errorf("shown in a later attempt: %v", hidden)
	}
}
