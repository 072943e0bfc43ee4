// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/apis/audit"
	upstreamaudit "k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authorization/granular"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/warning"

	"kube-granular.dev/granular/protect"
	"kube-granular.dev/granular/schema"
	ours "kube-granular.dev/pkg/audit"
)

// TestScaleIsFree checks that a write to a scale is not verified for protected labels, because
// the labels of a scale are not stored.
func TestScaleIsFree(t *testing.T) {
	deployments := endpoint(t, kindNamed("apps/v1/Deployment"), "deployments")
	gate := New(&questioned{}, WithProtection(&inForce{set: protect.New(env)}))
	if gate.Begin(contextOf("update", deployments, "n", "x"), deployments) == nil {
		t.Error("a deployment is not verified")
	}
	deployments.Subresource = "scale"
	if w := gate.Begin(contextOf("update", deployments, "n", "x"), deployments); w != nil {
		t.Errorf("a scale is verified: %T", w)
	}
}

// TestUnknownRequest checks that a write is refused if the request info or the user is missing
// from its context while any attribute is protected.
func TestUnknownRequest(t *testing.T) {
	pods := endpoint(t, kindNamed("/v1/Pod"), "pods")
	gate := New(&questioned{}, WithProtection(&inForce{set: protect.New(env)}))
	ctx := request.WithUser(context.Background(), nil)
	w := gate.Begin(ctx, pods)
	if w == nil {
		t.Fatal("nothing to verify")
	}
	if err := w.Verify(ctx, sentObject(t, podAt(envProd)), stored(t, podAt(bare))); err == nil {
		t.Error("a request without attributes changes a protected label")
	}
	pods.Kind = bound
	if _, w := granular.WithOperation(ctx, gate, pods); w == nil || w.Verify(ctx, nil, nil) == nil && w.Observe(ctx, nil, nil) == nil {
		t.Error("a binding without attributes is let through")
	}
	// A request without a user holds no role.
	p := &inForce{set: protect.New(env), holds: []string{"ClusterRole/releaser"}}
	pods = endpoint(t, kindNamed("/v1/Pod"), "pods")
	ctx = request.WithUser(contextOf("update", pods, "n", "x"), nil)
	if w = New(&questioned{}, WithProtection(p)).Begin(ctx, pods); w == nil {
		t.Fatal("nothing to verify of nobody")
	}
	if err := goThrough(t, w, ctx, sentObject(t, podAt(envProd)), stored(t, podAt(bare))); err == nil || len(p.asked) > 0 {
		t.Errorf("nobody: %v, asked %q", err, p.asked)
	}
}

// TestNotObserved checks that everything that is about to be stored counts as the caller's change
// if that change was not, or could not be, observed. If the final objects can't be compared, the
// write is refused.
func TestNotObserved(t *testing.T) {
	pods := endpoint(t, kindNamed("/v1/Pod"), "pods")
	for name, tc := range map[string]struct {
		observe bool
		holds   []string
		says    string
	}{
		"not observed":            {says: "needs ClusterRole"},
		"not observed, held":      {holds: []string{"ClusterRole/releaser"}},
		"can't be observed":       {observe: true, says: "needs ClusterRole"},
		"can't be observed, held": {observe: true, holds: []string{"ClusterRole/releaser"}},
	} {
		ctx := contextOf("update", pods, "n", "x")
		w := New(&questioned{grants: grants{allow: []string{"get"}}}, WithProtection(&inForce{set: protect.New(env), holds: tc.holds})).Begin(ctx, pods)
		if tc.observe {
			if err := w.Observe(ctx, &appsv1.Deployment{}, stored(t, podAt(bare))); err != nil {
				t.Fatal(err)
			}
		}
		judged(t, w.Verify(ctx, sentObject(t, podAt(envProd)), stored(t, podAt(bare))), nil, tc.says)
		if t.Failed() {
			t.Fatal(name)
		}
	}
	ctx := contextOf("update", pods, "n", "x")
	w := New(&questioned{}, WithProtection(&inForce{set: protect.New(env), holds: []string{"ClusterRole/releaser"}})).Begin(ctx, pods)
	if err := w.Observe(ctx, sentObject(t, podAt(envProd)), stored(t, podAt(bare))); err != nil {
		t.Fatal(err)
	}
	if err := w.Verify(ctx, &appsv1.Deployment{}, stored(t, podAt(bare))); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "can't be compared") {
		t.Errorf("what can't be compared: %v", err)
	}
}

// ending is an inForce that ends the request during Wait.
type ending struct {
	*inForce
	end context.CancelFunc
}

func (e ending) Wait(ctx context.Context) error {
	e.end()
	return e.inForce.Wait(ctx)
}

// TestRequestEndsUnjudged checks that a request gets a timeout if it ends while it waits for the
// protected attributes, or while roles are checked. It gets no other error.
func TestRequestEndsUnjudged(t *testing.T) {
	pods := endpoint(t, kindNamed("/v1/Pod"), "pods")
	for name, p := range map[string]*inForce{"while it waits": {pending: true}, "while a role is asked": {set: protect.New(env),
		fail: true}} {
		ctx, end := context.WithCancel(contextOf("update", pods, "n", "x"))
		w := New(&questioned{}, WithProtection(ending{p, end})).Begin(ctx, pods)
		if p.fail {
			end()
		}
		if err := goThrough(t, w, ctx, sentObject(t, podAt(envProd)), stored(t, podAt(bare))); !apierrors.IsTimeout(err) {
			t.Errorf("%s: %v", name, err)
		}
		end()
	}
}

// TestManyFindings checks that a caller gets a limited number of warnings and the number of
// further ones, that each ProtectedAttribute is counted once for a request, and that the audit
// event has all findings.
func TestManyFindings(t *testing.T) {
	pods := endpoint(t, kindNamed("/v1/Pod"), "pods")
	for name, tc := range map[string]struct {
		labels, entries int
		warnings        int
		says, more      string
	}{
		"as many as there may be": {labels: maxWarnings, entries: 1, warnings: maxWarnings},
		"one more": {labels: maxWarnings + 1, entries: 1, warnings: maxWarnings + 1,
			more: "changes of 1 other protected labels and annotations would be refused too"},
		"as many attributes": {labels: 1, entries: maxWarnings, warnings: 1,
			says: "e0, e1, e2, e3, e4 were enforced"},
		"one attribute more": {labels: 1, entries: maxWarnings + 1, warnings: 1,
			says: "e0, e1, e2, e3, e4, 1 others were enforced"},
	} {
		var entries []protect.Entry
		for i := range tc.entries {
			entries = append(entries, protect.Entry{Name: fmt.Sprint("e", i), Kind: schema.Label, Key: "many.example.com/*", Mode: protect.Audit, Role: protect.RoleRef{Kind: protect.ClusterRole, Name: "r"}})
		}
		var labels []string
		for i := range tc.labels {
			labels = append(labels, fmt.Sprintf("%q: %q", fmt.Sprintf("many.example.com/l%d", i), "x"))
		}
		heard, p := &warned{}, &inForce{set: protect.New(entries...)}
		ctx := upstreamaudit.WithAuditContext(warning.WithWarningRecorder(contextOf("update", pods, "n", "x"), heard))
		if err := upstreamaudit.AuditContextFrom(ctx).Init(upstreamaudit.RequestAuditConfig{Level: audit.LevelMetadata}, nil); err != nil {
			t.Fatal(err)
		}
		w := New(&questioned{}, WithProtection(p)).Begin(ctx, pods)
		judged(t, goThrough(t, w, ctx, sentObject(t, podAt(`{"labels": {"a": "b", `+strings.Join(labels, ", ")+`}}`)), stored(t, podAt(bare))), nil, "")
		w.Respond(ctx, nil)
		all := strings.Join(*heard, "\n")
		if len(*heard) != tc.warnings || !strings.Contains(all, tc.says) || !strings.Contains(all, tc.more) {
			t.Errorf("%s: warned of %q", name, *heard)
		}
		if len(p.counted) != tc.entries {
			t.Errorf("%s: counted %q", name, p.counted)
		}
		if said, _ := upstreamaudit.AuditContextFrom(ctx).GetEventAnnotation(ours.WouldRefuseAnnotation); strings.Count(said, "many.example.com/l") != tc.labels {
			t.Errorf("%s: the audit event has %q", name, said)
		}
	}
}

// TestCauseOfARefusal checks that the cause of a refusal has the path of the label as its field,
// and names the role that would admit the caller in its message.
func TestCauseOfARefusal(t *testing.T) {
	var status apierrors.APIStatus
	if err := podWrite(t, &questioned{}, &inForce{set: protect.New(env)}, bare, envProd, envProd); !errors.As(err, &status) {
		t.Fatal(err)
	}
	causes := status.Status().Details.Causes
	if len(causes) == 0 || causes[0].Type != metav1.CauseTypeForbidden || causes[0].Field != ".metadata.labels[env]" || !strings.HasPrefix(causes[0].Message, `needs ClusterRole "releaser"`) {
		t.Errorf("%+v", causes)
	}
}

// TestUnreadableRevision checks that unreadable data of a ControllerRevision count as an unknown
// label. If the old data are unreadable, all labels of the new data count as changed.
func TestUnreadableRevision(t *testing.T) {
	revision := func(data string) apiruntime.Object {
		return &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: "r", UID: "1"},
			Data: apiruntime.RawExtension{Raw: []byte(data)}}
	}
	const readable = `{"spec":{"template":{"metadata":{"labels":{"env":"dev"}}}}}`
	for name, tc := range map[string]struct {
		old, new string
		kinds    schema.Attribute
		want     int
	}{
		"readable":                  {"{}", readable, schema.Label, 1},
		"the same":                  {readable, readable, schema.Label, 0},
		"unreadable":                {readable, "{", schema.Label, 1},
		"unreadable, both kinds":    {readable, "{", schema.Label | schema.Annotation, 2},
		"it was not readable":       {"{", readable, schema.Label, 1},
		"another kind of attribute": {"{}", readable, schema.Annotation, 0},
	} {
		got := revised(tc.kinds, nil, revision(tc.old), revision(tc.new))
		if len(got) != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got := revised(schema.Label, nil, nil, revision(readable)); len(got) != 1 {
		t.Errorf("created: %v", got)
	}
	if got := revised(schema.Label, nil, nil, &appsv1.Deployment{}); len(got) != 1 || !got[0].Unreadable {
		t.Errorf("another kind: %v", got)
	}
}
