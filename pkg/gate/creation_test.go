// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	upstream "k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/granular"

	"kube-granular.dev/granular/protect"
)

// created returns an object that was not stored yet.
func created(t *testing.T, text string) *unstructured.Unstructured {
	out := object(t, text)
	out.SetUID("")
	return out
}

var missing = &unstructured.Unstructured{Object: map[string]any{}}

// TestImpliedCreate checks which fields a granular update or patch of a missing object needs
// permissions for: none but excluded ones if the caller holds the verb create, and all fields of the
// caller if it does not.
func TestImpliedCreate(t *testing.T) {
	model := target(t, strings.Replace(things, "EXCLUDED", "true", 1))
	for name, tc := range map[string]struct {
		allow, deny []string
		sent        string
		decision    upstream.Decision
		says        string
	}{
		"create":                       {[]string{"create"}, nil, `{"spec":{"size":1}}`, upstream.DecisionAllow, ""},
		"granular":                     {[]string{"granular"}, nil, `{"spec":{"size":1}}`, upstream.DecisionAllow, `needs the verb "granular:metadata"`},
		"no verb":                      {nil, nil, `{"spec":{"size":1}}`, upstream.DecisionNoOpinion, ""},
		"create is denied":             {[]string{"granular"}, []string{"create"}, `{"spec":{"size":1}}`, upstream.DecisionDeny, ""},
		"create of an excluded field":  {[]string{"create"}, nil, trigger, upstream.DecisionAllow, `needs the verb "granular:trigger"`},
		"with the excluded permission": {[]string{"create", "granular:trigger"}, nil, trigger, upstream.DecisionAllow, ""},
	} {
		t.Run(name, func(t *testing.T) {
			gate := New(&grants{allow: tc.allow, deny: tc.deny})
			ctx, marker := granular.WithMarker(requestContext("patch"))
			begun := gate.Begin(ctx, model)
			obj := created(t, tc.sent)
			if err := begun.Observe(ctx, obj, missing); err != nil {
				t.Fatal(err)
			}
			w, decision, _, err := gate.AuthorizeCreate(ctx, model, begun, attributes("create"))
			if err != nil || decision != tc.decision {
				t.Fatalf("decision %v, %v", decision, err)
			}
			if decision != upstream.DecisionAllow {
				if w != nil {
					t.Error("a write that is not allowed can be verified")
				}
				return
			}
			err = w.Verify(ctx, obj, nil)
			judged(t, err, marker, tc.says)
			if err != nil && !strings.Contains(begun.RespondError(ctx, err).Error(), tc.says) {
				t.Errorf("the caller does not see the refusal: %v", begun.RespondError(ctx, err))
			}
		})
	}
}

// TestImpliedCreateKeepsWebhooks checks that an excluded field that mutating admission sets is not
// charged to a caller that holds the verb create, as in a create by POST.
func TestImpliedCreateKeepsWebhooks(t *testing.T) {
	model := target(t, strings.Replace(things, "EXCLUDED", "true", 1))
	gate := New(&grants{allow: []string{"create"}})
	ctx, marker := granular.WithMarker(requestContext("patch"))
	begun := gate.Begin(ctx, model)
	if err := begun.Observe(ctx, created(t, `{"spec":{"size":1}}`), missing); err != nil {
		t.Fatal(err)
	}
	w, _, _, err := gate.AuthorizeCreate(ctx, model, begun, attributes("create"))
	if err != nil {
		t.Fatal(err)
	}
	judged(t, w.Verify(ctx, created(t, trigger), nil), marker, "")
}

// TestImpliedCreateInRace checks what verifies each attempt of a storage that finds the object in one
// attempt and misses it in the next.
func TestImpliedCreateInRace(t *testing.T) {
	model := target(t, strings.Replace(things, "EXCLUDED", "true", 1))
	gate := New(&grants{allow: []string{"create", "granular"}})
	ctx, marker := granular.WithMarker(requestContext("patch"))
	begun := gate.Begin(ctx, model)
	sent, stored := created(t, `{"spec":{"size":7}}`), object(t, plain)
	create := begun
	for attempt, exists := range []bool{false, true, false, true, true, false} {
		old, changed := missing, sent
		if exists {
			old, changed = stored, object(t, plain)
			if err := unstructured.SetNestedField(changed.Object, int64(7), "spec", "size"); err != nil {
				t.Fatal(err)
			}
		}
		if err := begun.Observe(ctx, changed, old); err != nil {
			t.Fatal(attempt, err)
		}
		if exists {
			judged(t, begun.Verify(ctx, changed, old), marker, `"granular:specification"`)
			continue
		}
		w, decision, _, err := gate.AuthorizeCreate(ctx, model, create, attributes("create"))
		if err != nil || decision != upstream.DecisionAllow {
			t.Fatal(attempt, decision, err)
		}
		create = w
		judged(t, w.Verify(ctx, changed, nil), marker, "")
	}
	// A create that follows no observation of a missing object charges all that is stored.
	if err := begun.Observe(ctx, object(t, plain), stored); err != nil {
		t.Fatal(err)
	}
	judged(t, create.Verify(ctx, created(t, trigger), nil), marker, `needs the verb "granular:trigger"`)
}

// TestImpliedCreateHidesObjects checks that the response to a caller without the verb get has only
// the identity of the created object, and that the authorizer is asked for each verb once.
func TestImpliedCreateHidesObjects(t *testing.T) {
	model := target(t, strings.Replace(things, "EXCLUDED", "true", 1))
	for _, mayGet := range []bool{false, true} {
		g := &grants{allow: []string{"create"}}
		if mayGet {
			g.allow = append(g.allow, "get")
		}
		gate := New(g)
		ctx, marker := granular.WithMarker(requestContext("update"))
		begun := gate.Begin(ctx, model)
		obj := created(t, `{"spec":{"size":1}}`)
		if err := begun.Observe(ctx, obj, missing); err != nil {
			t.Fatal(err)
		}
		w, _, _, err := gate.AuthorizeCreate(ctx, model, begun, attributes("create"))
		if err != nil {
			t.Fatal(err)
		}
		judged(t, w.Verify(ctx, obj, nil), marker, "")
		result := begun.Respond(ctx, obj).(*unstructured.Unstructured)
		if _, shown := result.Object["spec"]; shown != mayGet {
			t.Errorf("may get: %t, shows the specification: %t", mayGet, shown)
		}
		if want := []string{"create", "get"}; !slices.Equal(g.asked, want) {
			t.Errorf("asked %q, wanted %q", g.asked, want)
		}
	}
}

// TestImpliedCreateOfProtectedLabels checks that protected labels are verified for a caller that
// holds the verb create, in a granular request too.
func TestImpliedCreateOfProtectedLabels(t *testing.T) {
	target := endpoint(t, kindNamed("/v1/Pod"), "pods")
	for _, held := range []bool{false, true} {
		p := &inForce{set: protect.New(env)}
		if held {
			p.holds = []string{"ClusterRole/releaser"}
		}
		gate := New(&questioned{grants: grants{allow: []string{"create"}}}, WithProtection(p))
		ctx, marker := granular.WithMarker(contextOf("patch", target, "n", "x"))
		begun, sent := gate.Begin(ctx, target), sentObject(t, podAt(envProd))
		sent.(metav1.Object).SetUID("")
		if err := begun.Observe(ctx, sent, nil); err != nil {
			t.Fatal(err)
		}
		a := attributes("create")
		a.APIGroup, a.Resource, a.Name = "", "pods", "x"
		w, decision, _, err := gate.AuthorizeCreate(ctx, target, begun, a)
		if err != nil || decision != upstream.DecisionAllow {
			t.Fatal(decision, err)
		}
		says := ""
		if !held {
			says = "needs ClusterRole"
		}
		judged(t, w.Verify(ctx, sent, nil), marker, says)
	}
}
