// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/apis/audit"
	upstreamaudit "k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authorization/granular"
	"k8s.io/apiserver/pkg/warning"

	"kube-granular.dev/granular/protect"
	ours "kube-granular.dev/pkg/audit"
)

// auditedOf returns the context of a request to an endpoint, with an audit event.
func auditedOf(t *testing.T, of granular.Target) context.Context {
	t.Helper()
	ctx := upstreamaudit.WithAuditContext(contextOf("update", of, "n", "x"))
	if err := upstreamaudit.AuditContextFrom(ctx).Init(upstreamaudit.RequestAuditConfig{Level: audit.LevelMetadata}, nil); err != nil {
		t.Fatal(err)
	}
	return ctx
}

// TestMissingRoleIsAudited checks that the audit log names the role that a refused caller lacks,
// but only if the request failed for that reason. The refusal names the role and the field path
// in its cause.
func TestMissingRoleIsAudited(t *testing.T) {
	of := endpoint(t, kindNamed("/v1/Pod"), "pods")
	conflict := apierrors.NewConflict(of.Resource.GroupResource(), "x", errors.New("modified"))
	for name, tc := range map[string]struct {
		// verified is nil if the request fails before it is verified.
		verified         *inForce
		instead          error
		missing, message string
	}{
		"refused":                  {&inForce{}, nil, "ClusterRole/releaser", `needs ClusterRole "releaser"`},
		"refused, said with more":  {&inForce{}, errors.New("while writing"), "ClusterRole/releaser", ""},
		"refused, then a conflict": {&inForce{}, conflict, "", ""},
		"allowed, then a conflict": {&inForce{holds: []string{"ClusterRole/releaser"}}, conflict, "", ""},
		"no answer":                {&inForce{fail: true}, nil, "", ""},
		"not verified":             {nil, conflict, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := tc.verified
			if p == nil {
				p = &inForce{}
			}
			p.set = protect.New(env)
			ctx := auditedOf(t, of)
			w := New(&questioned{}, WithProtection(p)).Begin(ctx, of)
			var err error
			if tc.verified != nil {
				err = goThrough(t, w, ctx, sentObject(t, podAt(envProd)), stored(t, podAt(bare)))
			}
			if tc.instead == conflict {
				err = conflict
			} else if tc.instead != nil {
				err = errors.Join(tc.instead, err)
			}
			if got := w.RespondError(ctx, err); got != err {
				t.Errorf("the caller sees %v instead of %v", got, err)
			}
			got, said := upstreamaudit.AuditContextFrom(ctx).GetEventAnnotation(ours.MissingAnnotation)
			if got != tc.missing || said != (tc.missing != "") {
				t.Errorf("the audit event says %q (%t), wanted %q", got, said, tc.missing)
			}
			if tc.message == "" {
				return
			}
			causes := err.(apierrors.APIStatus).Status().Details.Causes
			if len(causes) == 0 || causes[0].Field != ".metadata.labels[env]" || !strings.HasPrefix(causes[0].Message, tc.message) {
				t.Errorf("the causes are %+v", causes)
			}
		})
	}
}

// TestFindingsAreTold checks how changes are reported that would be refused if protected
// attributes in mode Audit were enforced. The caller gets a warning for each of the first five,
// and one with the number of others. The audit log has all of them. Without such a change,
// nothing is reported.
func TestFindingsAreTold(t *testing.T) {
	of := endpoint(t, kindNamed("/v1/Pod"), "pods")
	for _, found := range []int{0, 1, maxWarnings, maxWarnings + 1, maxWarnings + 2} {
		t.Run(fmt.Sprint(found), func(t *testing.T) {
			var entries []protect.Entry
			var labels, want, wouldRefuse, counts []string
			for i := range maxWarnings + 2 {
				e := inAudit(env)
				e.Name, e.Key, e.ProtectedValues = fmt.Sprintf("of-%d", i), fmt.Sprintf("l%d", i), nil
				entries = append(entries, e)
				if i >= found {
					continue
				}
				labels = append(labels, fmt.Sprintf(`"l%d": "v"`, i))
				wouldRefuse = append(wouldRefuse, fmt.Sprintf(".metadata.labels[l%d]:of-%d", i, i))
				counts = append(counts, fmt.Sprintf("/of-%d", i))
				if i < maxWarnings {
					want = append(want, fmt.Sprintf(".metadata.labels[l%d] is a protected label: this change would be refused if of-%d were enforced", i, i))
				}
			}
			if found > maxWarnings {
				want = append(want, fmt.Sprintf("changes of %d other protected labels and annotations would be refused too", found-maxWarnings))
			}
			heard, p := &warned{}, &inForce{set: protect.New(entries...)}
			ctx := warning.WithWarningRecorder(auditedOf(t, of), heard)
			w := New(&questioned{}, WithProtection(p)).Begin(ctx, of)
			pod := podAt(`{"labels": {` + strings.Join(labels, ", ") + `}}`)
			judged(t, goThrough(t, w, ctx, sentObject(t, pod), stored(t, podAt(`{"labels": {}}`))), nil, "")
			w.Respond(ctx, nil)
			if !slices.Equal(*heard, want) {
				t.Errorf("warned of %q, wanted %q", *heard, want)
			}
			got, said := upstreamaudit.AuditContextFrom(ctx).GetEventAnnotation(ours.WouldRefuseAnnotation)
			if got != strings.Join(wouldRefuse, " ") || said != (found > 0) {
				t.Errorf("the audit event says %q (%t), wanted %q", got, said, wouldRefuse)
			}
			if !slices.Equal(p.counted, counts) {
				t.Errorf("counted %q, wanted %q", p.counted, counts)
			}
		})
	}
	// A request that ends before it is verified has no finding.
	ctx := contextOf("update", of, "n", "x")
	New(&questioned{}, WithProtection(&inForce{set: protect.New(env)})).Begin(ctx, of).Respond(ctx, nil)
}

// TestFindingIsCountedOnce checks that a request counts once for a ProtectedAttribute object,
// even if the attribute would refuse it in two places of the object.
func TestFindingIsCountedOnce(t *testing.T) {
	of := endpoint(t, kindNamed("/v1/Pod"), "pods")
	pod := func(metadata string) string {
		return at("/v1/Pod", `"metadata": PLACE, "spec": {"volumes": [{"name": "v", "ephemeral": {"volumeClaimTemplate": {"metadata": `+metadata+`, "spec": {}}}}]}`, metadata)
	}
	p := &inForce{set: protect.New(inAudit(env))}
	ctx := auditedOf(t, of)
	w := New(&questioned{}, WithProtection(p)).Begin(ctx, of)
	judged(t, goThrough(t, w, ctx, sentObject(t, pod(envProd)), stored(t, pod(bare))), nil, "")
	w.Respond(ctx, nil)
	if got := strings.Fields(annotation(ctx, ours.WouldRefuseAnnotation)); len(got) != 2 {
		t.Errorf("would be refused for %q", got)
	}
	if want := []string{"/env"}; !slices.Equal(p.counted, want) {
		t.Errorf("counted %q", p.counted)
	}
}

// TestHeadOfNames checks how head shortens a list of names.
func TestHeadOfNames(t *testing.T) {
	for names, want := range map[string]string{"": "", "a": "a", "a b": "a b", "a b c": "a b 1 others", "a b c d": "a b 2 others"} {
		given := strings.Fields(names)
		if got := strings.Join(head(given, 2), " "); got != want || strings.Join(given, " ") != names {
			t.Errorf("of %q: %q, wanted %q", names, got, want)
		}
	}
}

// TestProtectedIsCounted checks which metric each outcome of a change of labels counts, once. It
// also checks that a request that ended before its verification gets a timeout.
func TestProtectedIsCounted(t *testing.T) {
	of := endpoint(t, kindNamed("/v1/Pod"), "pods")
	kindOf(of)
	over, end := context.WithCancel(contextOf("update", of, "n", "x"))
	end()
	for name, tc := range map[string]struct {
		p     inForce
		allow []string
		ctx   context.Context
		want  string
		is    func(error) bool
	}{
		"admitted": {p: inForce{set: protect.New(env), holds: []string{"ClusterRole/releaser"}},
			want: "admitted"},
		"refused": {p: inForce{set: protect.New(env)}, want: "refused",
			is: apierrors.IsForbidden},
		"bypassed": {p: inForce{set: protect.New(env)}, allow: []string{BypassVerb},
			want: "bypassed"},
		"audited": {p: inForce{set: protect.New(inAudit(env))}, want: "audited"},
		"no answer": {p: inForce{set: protect.New(env), fail: true}, want: "error",
			is: apierrors.IsInternalError},
		"over, no answer": {p: inForce{set: protect.New(env), fail: true}, ctx: over, want: "error",
			is: apierrors.IsTimeout},
		"over, refused": {p: inForce{set: protect.New(env)}, ctx: over, want: "refused",
			is: apierrors.IsForbidden},
		"not known yet":              {p: inForce{pending: true}, want: "error", is: apierrors.IsServiceUnavailable},
		"not known until it is over": {p: inForce{pending: true}, ctx: over, want: "error", is: apierrors.IsTimeout},
		"known when it is over, refuse": {p: inForce{set: protect.New(env), pending: true, arrives: true},
			ctx: over, want: "refused", is: apierrors.IsForbidden},
	} {
		ctx := tc.ctx
		if ctx == nil {
			ctx = contextOf("update", of, "n", "x")
		}
		got := counted(t, func() {
			w := New(&questioned{grants: grants{allow: tc.allow}}, WithProtection(&tc.p)).Begin(ctx, of)
			if err := goThrough(t, w, ctx, sentObject(t, podAt(envProd)), stored(t, podAt(bare))); (tc.is == nil) != (err == nil) || err != nil && !tc.is(err) {
				t.Errorf("%s: %v", name, err)
			}
		})
		if diff := cmp.Diff(map[string]int{"protected_attribute_decisions_total " + tc.want: 1}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestPatchOfBoth checks that the patch of a granular request is also passed to the verification
// of fields, which refuses a copy. For a caller that holds the ordinary verb there is no such
// verification.
func TestPatchOfBoth(t *testing.T) {
	of := endpoint(t, kindNamed("/v1/Pod"), "pods")
	copies := []byte(`[{"op":"copy","from":"/spec","path":"/metadata/labels"}]`)
	gate := New(&questioned{}, WithProtection(&inForce{set: protect.New(env)}))
	ctx := contextOf("patch", of, "n", "x")
	if err := gate.Begin(ctx, of).Patch(ctx, types.JSONPatchType, copies); err != nil {
		t.Errorf("a caller that holds the verb: %v", err)
	}
	ctx, _ = granular.WithMarker(ctx)
	if err := gate.Begin(ctx, of).Patch(ctx, types.JSONPatchType, copies); !apierrors.IsForbidden(err) {
		t.Errorf("a caller that may not get the object: %v", err)
	}
}

// TestElementsOfOthers checks that a refusal shows a protected key in a list element only to a
// caller that may get the object, or whose patch names both the element and the key.
func TestElementsOfOthers(t *testing.T) {
	of := endpoint(t, kindNamed("/v1/Pod"), "pods")
	pod := func(labels string) string {
		return at("/v1/Pod", `"spec": {"volumes": [{"name": "v", "ephemeral": {"volumeClaimTemplate": {"metadata": PLACE, "spec": {}}}}]}`, labels)
	}
	const place = `.spec.volumes[name="v"].ephemeral.volumeClaimTemplate.metadata.labels`
	for name, tc := range map[string]struct {
		kind  types.PatchType
		patch string
		get   bool
		says  string
	}{
		"both named": {types.StrategicMergePatchType,
			`{"spec":{"volumes":[{"name":"v","ephemeral":{"volumeClaimTemplate":{"metadata":{"labels":{"env":null}}}}}]}}`,
			false, place + "[env] in"},
		"the element only": {types.StrategicMergePatchType,
			`{"spec":{"volumes":[{"name":"v","ephemeral":{"volumeClaimTemplate":{"metadata":{"labels":null}}}}]}}`,
			false, "its key is not shown, because the request does not name it"},
		"by its position": {types.JSONPatchType,
			`[{"op":"remove","path":"/spec/volumes/0/ephemeral/volumeClaimTemplate/metadata/labels/env"}]`, false,
			"its key is not shown, because the request does not name it"},
		"position, may get": {types.JSONPatchType,
			`[{"op":"remove","path":"/spec/volumes/0/ephemeral/volumeClaimTemplate/metadata/labels/env"}]`, true,
			place + "[env] in"},
	} {
		t.Run(name, func(t *testing.T) {
			g := &questioned{grants: grants{allow: []string{"granular:specification"}}}
			if tc.get {
				g.allow = append(g.allow, "get")
			}
			ctx, marker := granular.WithMarker(contextOf("patch", of, "n", "x"))
			w := New(g, WithProtection(&inForce{set: protect.New(env)})).Begin(ctx, of)
			if err := w.Patch(ctx, tc.kind, []byte(tc.patch)); err != nil {
				t.Fatal(err)
			}
			judged(t, goThrough(t, w, ctx, sentObject(t, pod(bare)), stored(t, pod(envProd))), marker, tc.says)
		})
	}
}
