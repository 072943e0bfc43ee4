// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	upstream "k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/granular"

	"kube-granular.dev/granular/decide"
	"kube-granular.dev/pkg/expression"
)

// costlyLabels is a schema with a permission for every label, whose parameter comes from an
// expression that costs some 5,900 units.
var costlyLabels = strings.Replace(labelled, `"x-kubernetes-permission-parameterized-by": "label-key"`,
	`"x-kubernetes-permission-parameterized-by": "label-key", "x-kubernetes-permission-parameter-expression": "`+thousand+` ? 'x' : self"`, 1)

const (
	ten      = `[1,2,3,4,5,6,7,8,9,0].all(`
	thousand = ten + `a,` + ten + `b,` + ten + `c,true)))`
)

// TestKeysPerRequest checks how many keys of 16 bytes the limit of a request allows, as the page on
// operations says.
func TestKeysPerRequest(t *testing.T) {
	e, err := storedExpressions.Compile(`self.split('/')[0]`)
	if err != nil {
		t.Fatal(err)
	}
	_, cost, err := e.Parameter(t.Context(), "a.com/0123456789")
	if err != nil {
		t.Fatal(err)
	}
	if keys := decide.MaxCost / cost; keys != 50_000 {
		t.Errorf("%d keys of %d units each", keys, cost)
	}
}

// TestExpressionsOfARequest lets requests change more and more labels whose parameters come from
// a costly expression. It checks how many expressions are evaluated, and that the count does not
// grow when the storage retries.
func TestExpressionsOfARequest(t *testing.T) {
	model, old := target(t, costlyLabels), withLabels(t, "example.com", 0)
	one, err := storedExpressions.Compile(thousand + ` ? 'x' : self`)
	if err != nil {
		t.Fatal(err)
	}
	_, cost, err := one.Parameter(t.Context(), "example.com/l0")
	if err != nil || cost < 1000 || cost > expression.MaxCost {
		t.Fatal(cost, err)
	}
	fits := int(decide.MaxCost / cost)
	for _, tc := range []struct {
		name        string
		labels      int
		allow       []string
		evaluations int
		says        string
	}{
		{"as many as may be", fits, []string{"granular:label(x)"}, fits, ""},
		{"one more", fits + 1, []string{"granular:label(x)"}, fits + 1,
			`the parameter expressions for this request cost more than 1000000 units; hold the verb "granular:labels" instead, or change fewer keys at a time`},
		{"many more", 20_000, []string{"granular:label(x)"}, fits + 1, `hold the verb "granular:labels" instead`},
		{"the general verb", 20_000, []string{"granular:labels"}, 1, ""},
		{"without any", 20_000, nil, 1, `needs one of the verbs "granular:label(x)", "granular:metadata"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			changed := withLabels(t, "example.com", tc.labels)
			ctx, _ := granular.WithMarker(requestContext("update"))
			w := New(&grants{allow: tc.allow}).Begin(ctx, model).(*write)
			// This is like a storage that retries after a conflict.
			for range 3 {
				if err := w.Submitted(ctx, changed, old); err != nil {
					t.Fatal(err)
				}
				err := verify(t, w, ctx, changed, old)
				if (err == nil) != (tc.says == "") || err != nil && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), tc.says) || !strings.Contains(err.Error(), "cannot change .metadata.labels[")) {
					t.Errorf("%v, wanted %s", err, tc.says)
				}
				if got := w.decider.Costs().Evaluations(); got != tc.evaluations {
					t.Errorf("%d evaluations, wanted %d", got, tc.evaluations)
				}
			}
			if tc.says != "" && tc.allow != nil && strings.Join(w.verdict.Load().missing, " ") != "granular:labels" {
				t.Errorf("missing %q", w.verdict.Load().missing)
			}
		})
	}
}

// TestCreateContinues checks that a create that an update implies shares the cost limit of the
// update.
func TestCreateContinues(t *testing.T) {
	model := target(t, strings.Replace(costlyLabels, `"x-kubernetes-permission-parameterized-by"`, `"x-kubernetes-permission-excluded": true, "x-kubernetes-permission-parameterized-by"`, 1))
	ctx := requestContext("update")
	gate := New(&grants{allow: []string{"update", "granular", "granular:label(x)", "granular:metadata"}})
	begun := gate.Begin(ctx, model).(*write)
	create := attributes("create")
	w, decision, _, err := gate.AuthorizeCreate(ctx, model, begun, create)
	if err != nil || decision != upstream.DecisionAllow {
		t.Fatal(decision, err)
	}
	if w == granular.Write(begun) || w.(*write).decider.Costs() != begun.decider.Costs() {
		t.Error("the create has a limit of its own")
	}
}

// ender is an authorizer that allows everything, and ends the request when it is called.
type ender struct {
	upstream.Authorizer
	end func()
}

func (e *ender) Authorize(context.Context, upstream.Attributes) (upstream.Decision, string, error) {
	e.end()
	return upstream.DecisionAllow, "", nil
}

// TestRequestEnds checks that a request that ends before it is verified gets a timeout and is not
// stored, and that a failing authorizer gets another error.
func TestRequestEnds(t *testing.T) {
	model, old, changed := target(t, labelled), withLabels(t, "example.com", 0), withLabels(t, "example.com", 200)
	ctx, cancel := context.WithCancel(requestContext("update"))
	defer cancel()
	ctx, _ = granular.WithMarker(ctx)
	w := New(&ender{end: cancel}).Begin(ctx, model)
	if err := verify(t, w, ctx, changed, old); !apierrors.IsTimeout(err) || granular.MarkerFrom(ctx).Consume() == nil {
		t.Errorf("%v, and stored", err)
	}
	// After the request ended, nothing is compared and the authorizer is not called.
	for _, labels := range []int{1, 200} {
		nobody := &grants{allow: []string{"granular:metadata"}}
		w = New(nobody).Begin(ctx, model)
		changed = withLabels(t, "example.com", labels)
		if err := verify(t, w, ctx, changed, old); !apierrors.IsTimeout(err) || len(nobody.asked) > 0 || granular.MarkerFrom(ctx).Consume() == nil {
			t.Errorf("%d labels: %v, asked %q", labels, err, nobody.asked)
		}
	}
	// If the authorizer fails while the request continues, the error is a 500.
	ctx, _ = granular.WithMarker(requestContext("update"))
	w = New(&grants{fail: []string{"granular:metadata"}}).Begin(ctx, model)
	if err := verify(t, w, ctx, changed, old); !apierrors.IsInternalError(err) {
		t.Error(err)
	}
}
