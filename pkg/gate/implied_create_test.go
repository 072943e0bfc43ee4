// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"errors"
	"strings"
	"testing"

	upstream "k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/granular"
)

// TestImpliedCreateWithErrors checks that an error of the authorizer about the verb create goes on to the handler,
// beside any decision, and that the verb granular can't replace what the authorizer could not say.
func TestImpliedCreateWithErrors(t *testing.T) {
	model := target(t, strings.Replace(things, "EXCLUDED", "true", 1))
	for name, tc := range map[string]struct {
		decision upstream.Decision
		marked   bool
		verified bool // a Write verifies the create
	}{
		"allow, granular":   {upstream.DecisionAllow, true, true},
		"allow, ordinary":   {upstream.DecisionAllow, false, true},
		"deny":              {upstream.DecisionDeny, true, false},
		"no opinion":        {upstream.DecisionNoOpinion, true, false},
		"no opinion either": {upstream.DecisionNoOpinion, false, false},
	} {
		var asked []string
		gate := New(erring{says: map[string]upstream.Decision{"create": tc.decision, "granular": upstream.DecisionAllow},
			fails: map[string]error{"create": errErring}, asked: &asked})
		ctx := requestContext("patch")
		if tc.marked {
			ctx, _ = granular.WithMarker(ctx)
		}
		begun := gate.Begin(ctx, model)
		if err := begun.Observe(ctx, created(t, `{"spec":{"size":1}}`), missing); err != nil {
			t.Fatal(err)
		}
		w, decision, _, err := gate.AuthorizeCreate(ctx, model, begun, attributes("create"))
		if decision != tc.decision || !errors.Is(err, errErring) || (w != nil) != tc.verified || len(asked) != 1 {
			t.Errorf("%s: %v, %v, verified: %t, asked %q", name, decision, err, w != nil, asked)
		}
	}
}

// TestImpliedCreateAsStored checks that a create which an ordinary update implies, and which only the verb granular
// allows, is verified in the stored version too.
func TestImpliedCreateAsStored(t *testing.T) {
	for _, held := range []string{"", "granular:trigger"} {
		target := storedTarget(t, "", false)
		target.Schema.Stored.Webhook = true
		gate := New(&grants{allow: []string{"granular", "granular:metadata", "granular:size", held}})
		ctx := requestContext("update")
		begun := gate.Begin(ctx, target)
		if begun != nil {
			t.Fatal("an ordinary update is verified, and nothing is excluded")
		}
		w, decision, _, err := gate.AuthorizeCreate(ctx, target, begun, attributes("create"))
		if err != nil || decision != upstream.DecisionAllow {
			t.Fatal(decision, err)
		}
		says := map[string]string{"": "cannot change .spec.trigger of version v2"}[held]
		judged(t, w.Verify(ctx, created(t, `{"spec":{"size":1}}`), nil), nil, says)
	}
}
