// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/authentication/user"
	upstream "k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/granular"
	"k8s.io/apiserver/pkg/warning"

	"kube-granular.dev/granular/protect"
)

// warned is a warning recorder that keeps the warnings.
type warned []string

func (w *warned) AddWarning(_, text string) { *w = append(*w, text) }

// TestAudit checks that a protected attribute in mode Audit refuses nothing, and warns a caller
// once that would be refused. A caller that is admitted or may bypass gets no warning. A dry run
// is not counted.
func TestAudit(t *testing.T) {
	target := endpoint(t, kindNamed("/v1/Pod"), "pods")
	for name, tc := range map[string]struct {
		entry  protect.Entry
		holds  []string
		allow  []string
		failed bool
		dryRun bool
		says   int
	}{
		"audited":           {entry: inAudit(env), says: 1},
		"audited, dry run":  {entry: inAudit(env), dryRun: true, says: 1},
		"audited, held":     {entry: inAudit(env), holds: []string{"ClusterRole/releaser"}},
		"audited, bypassed": {entry: inAudit(env), allow: []string{BypassVerb}},
		"audited, failed":   {entry: inAudit(env), failed: true},
		"enforced, held":    {entry: env, holds: []string{"ClusterRole/releaser"}},
	} {
		t.Run(name, func(t *testing.T) {
			heard := &warned{}
			ctx := warning.WithWarningRecorder(contextOf("update", target, "n", "x"), heard)
			p := &inForce{set: protect.New(tc.entry), holds: tc.holds}
			w := New(&questioned{grants: grants{allow: tc.allow}}, WithProtection(p)).Begin(ctx, target)
			for range 2 {
				judged(t, goThrough(t, w, ctx, sentObject(t, podAt(envProd)), stored(t, podAt(bare))), nil, "")
			}
			counts := tc.says
			switch {
			case tc.failed:
				_ = w.RespondError(ctx, errors.New("something else"))
			case tc.dryRun:
				w.Respond(granular.WithDryRun(ctx), nil)
				counts = 0
			default:
				w.Respond(ctx, nil)
			}
			if len(*heard) != tc.says || len(p.counted) != counts || counts > 0 && p.counted[0] != "/env" {
				t.Fatalf("warned of %q, counted %q", *heard, p.counted)
			}
			if tc.says > 0 && (!strings.Contains((*heard)[0], ".metadata.labels[env]") || !strings.Contains((*heard)[0], "env were enforced") || strings.Contains((*heard)[0], "prod")) {
				t.Errorf("warned of %q", *heard)
			}
		})
	}
}

// TestBindings checks that the labels and annotations that a caller sends in a binding are
// verified when they are merged into the pod. Those that admission adds are not.
func TestBindings(t *testing.T) {
	for _, path := range []string{"pods/binding", "bindings"} {
		for name, tc := range map[string]struct {
			old, callerChange, stored string
			holds                     bool
			refused                   string
		}{
			"labels": {bare, envProd, envProd, false,
				`labels[env] in namespace "n" through "pods/binding"`},
			"labels, held":          {bare, envProd, envProd, true, ""},
			"labels that are there": {envProd, envProd, envProd, false, ""},
			"overwritten":           {envProd, envDev, envDev, false, "labels[env]"},
			"added by admission":    {bare, `{"generation": 1}`, envProd, false, ""},
			"added to the caller's": {bare, `{"labels": {"a": "c"}}`, envProd2, false, ""},
			"annotations":           {bare, netA, netA, false, "annotations[example.com/net]"},
			"labels are not merged": {bare, envProd, bare, false, ""},
			"another value":         {bare, envDev, envDev, false, ""},
		} {
			t.Run(path+" "+name, func(t *testing.T) {
				target := endpoint(t, kindNamed("/v1/Pod"), path)
				target.Kind = bound
				p := &inForce{set: protect.New(env, net)}
				if tc.holds {
					p.holds = []string{"ClusterRole/releaser"}
				}
				ctx := contextOf("create", target, "n", "x")
				ctx, w := granular.WithOperation(ctx, New(&questioned{}, WithProtection(p)), target)
				if w == nil {
					t.Fatal("nothing to verify")
				}
				pod := stored(t, podAt(tc.old))
				if err := w.Observe(ctx, stored(t, podAt(tc.callerChange)), nil); err != nil {
					t.Fatal(err)
				}
				if err := w.Verify(ctx, stored(t, podAt(tc.callerChange)), nil); err != nil {
					t.Fatal(err)
				}
				verify := granular.Changing(ctx, pod)
				judged(t, verify(stored(t, podAt(tc.stored))), nil, tc.refused)
			})
		}
	}
}

// TestOtherOperations checks that of the operations (creates that store no object of their own)
// only bindings are verified, and those only if anything is protected.
func TestOtherOperations(t *testing.T) {
	target := endpoint(t, kindNamed("/v1/Pod"), "pods/eviction")
	target.Kind.Group, target.Kind.Kind = "policy", "Eviction"
	ctx := contextOf("create", target, "n", "x")
	if _, w := granular.WithOperation(ctx, New(&questioned{}, WithProtection(&inForce{set: protect.New(env)})), target); w != nil {
		t.Error("an eviction is verified")
	}
	target.Kind = bound
	for name, gate := range map[string]granular.Gate{"no protection": New(&questioned{}), "nothing in force": New(&questioned{}, WithProtection(&inForce{})), "no gate": nil} {
		if with, w := granular.WithOperation(ctx, gate, target); w != nil || with != ctx {
			t.Errorf("%s: a binding is verified", name)
		}
	}
	if granular.Changing(ctx, stored(t, podAt(bare)))(stored(t, podAt(envProd))) != nil {
		t.Error("a change of no operation is refused")
	}
}

// TestCreateOnUpdate checks that a create that an update implies is verified for protected labels
// with the change that was observed, whether the caller holds the verb create or only permissions
// of fields.
func TestCreateOnUpdate(t *testing.T) {
	target := endpoint(t, kindNamed("/v1/Pod"), "pods")
	for _, fallback := range []bool{false, true} {
		for _, held := range []bool{false, true} {
			g := &questioned{grants: grants{allow: []string{"granular", "granular:metadata", "granular:specification"}}}
			p := &inForce{set: protect.New(env)}
			if held {
				p.holds = []string{"ClusterRole/releaser"}
			}
			gate := New(g, WithProtection(p))
			ctx := contextOf("update", target, "n", "x")
			w := gate.Begin(ctx, target)
			sent := sentObject(t, podAt(envProd))
			if err := w.Observe(ctx, sent, nil); err != nil {
				t.Fatal(err)
			}
			if fallback {
				a := upstream.AttributesRecord{User: &user.DefaultInfo{Name: "jane"}, Verb: "create",
					APIVersion: "v1", Resource: "pods", Namespace: "n", Name: "x", ResourceRequest: true}
				var err error
				var decision upstream.Decision
				if w, decision, _, err = gate.AuthorizeCreate(ctx, target, w, a); err != nil || decision != upstream.DecisionAllow {
					t.Fatal(decision, err)
				}
			}
			says := ""
			if !held {
				says = "needs ClusterRole"
			}
			judged(t, w.Verify(ctx, sent, nil), nil, says)
			// A label that admission adds is not the caller's change.
			bareSent := sentObject(t, podAt(bare))
			w = gate.Begin(ctx, target)
			if err := w.Observe(ctx, bareSent, nil); err != nil {
				t.Fatal(err)
			}
			judged(t, w.Verify(ctx, sent, nil), nil, "")
		}
	}
}

// TestWithoutFields checks that a Gate that verifies no fields allows no granular request and
// checks no excluded permission, but still verifies protected labels.
func TestWithoutFields(t *testing.T) {
	g := &questioned{grants: grants{allow: []string{"granular"}}}
	gate := New(g, WithProtection(&inForce{set: protect.New(env)}), WithoutFields())
	if ctx, decision, _, err := gate.Fallback(context.Background(), attributes("update")); granular.MarkerFrom(ctx) != nil || decision != upstream.DecisionNoOpinion || err != nil {
		t.Error(decision, err)
	}
	excluded := target(t, strings.Replace(things, "EXCLUDED", "true", 1))
	if _, decision, _, err := gate.AuthorizeCreate(requestContext("update"), excluded, nil, attributes("create")); decision != upstream.DecisionNoOpinion || err != nil {
		t.Error(decision, err)
	}
	if w := gate.Begin(requestContext("update"), excluded); w != nil {
		t.Errorf("begun %T", w)
	}
	pods := endpoint(t, kindNamed("/v1/Pod"), "pods")
	ctx := contextOf("update", pods, "n", "x")
	w := gate.Begin(ctx, pods)
	judged(t, goThrough(t, w, ctx, sentObject(t, podAt(envProd)), stored(t, podAt(bare))), nil, "labels[env]")
	if slices.ContainsFunc(g.asked, func(verb string) bool { return strings.HasPrefix(verb, "granular") }) {
		t.Errorf("asked %q", g.asked)
	}
}

// TestWithoutSchema checks that labels and annotations of a kind without a permission tree are
// found in every field named metadata.
//
// Attack: a protected label in a kind whose schema does not compile
// Answer: 403, it is found by its name
func TestWithoutSchema(t *testing.T) {
	malformed := strings.Replace(strings.Replace(things, "EXCLUDED", "false", 1), `"size"}`, `"Not A Permission"}`, 1)
	for name, model := range map[string]string{"malformed": malformed, "unknown": ""} {
		for _, held := range []bool{false, true} {
			p := &inForce{set: protect.New(env)}
			says := []string{"labels[env]", "spec.template.metadata.labels[env]"}
			if held {
				p.holds, says = []string{"ClusterRole/releaser"}, []string{"", ""}
			}
			of := target(t, model)
			ctx := requestContext("update")
			w := New(&questioned{}, WithProtection(p)).Begin(ctx, of)
			if w == nil {
				t.Fatalf("%s: nothing to verify", name)
			}
			old := object(t, plain)
			judged(t, goThrough(t, w, ctx, object(t, larger), old), nil, "")
			judged(t, goThrough(t, w, ctx, object(t, `{"metadata":{"labels":{"env":"prod"}}}`), old), nil, says[0])
			judged(t, goThrough(t, w, ctx, object(t, `{"spec":{"template":{"metadata":{"labels":{"env":"prod"}}}}}`), old), nil, says[1])
		}
	}
}
