// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"context"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	upstream "k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/granular"

	"kube-granular.dev/granular/decide"
)

// labelled has a permission for every label, of its key as it is.
const labelled = `{
  "type": "object",
  "x-kubernetes-group-version-kind": [{"group": "example.com", "version": "v1", "kind": "Thing"}],
  "properties": {
    "metadata": {"type": "object", "x-kubernetes-permission-verb": "metadata", "properties": {
      "labels": {"type": "object", "x-kubernetes-permission-verb": "labels", "x-kubernetes-permission-parameter-source": "label-key",
        "additionalProperties": {"type": "string", "x-kubernetes-permission-verb": "label", "x-kubernetes-permission-parameterized-by": "label-key"}}
    }}
  }
}`

// withLabels is an object with labels of the given keys' domain.
func withLabels(t testing.TB, domain string, labels int) *unstructured.Unstructured {
	set := make(map[string]any, labels)
	for i := range labels {
		set[fmt.Sprintf("%s/l%d", domain, i)] = "v"
	}
	u := object(t, "{}")
	u.Object["metadata"].(map[string]any)["labels"] = set
	return u
}

// verifyLabels sends one granular update through the Gate.
func verifyLabels(t testing.TB, gate *Gate, model granular.Target, old, changed *unstructured.Unstructured) error {
	ctx, _ := granular.WithMarker(requestContext("update"))
	w := gate.Begin(ctx, model)
	if err := w.Submitted(ctx, changed, old); err != nil {
		t.Fatal(err)
	}
	if err := w.Observe(ctx, changed, old); err != nil {
		t.Fatal(err)
	}
	return w.Verify(ctx, changed, old)
}

// each allows the permission of every single label, and nothing more general.
type each struct {
	upstream.Authorizer
	calls int
}

func (e *each) Authorize(_ context.Context, a upstream.Attributes) (upstream.Decision, string, error) {
	e.calls++
	if strings.HasPrefix(a.GetVerb(), "granular:label(") {
		return upstream.DecisionAllow, "", nil
	}
	return upstream.DecisionNoOpinion, "", nil
}

// TestCallsStayBounded grows a change from one label to five thousand, for a caller
// who holds one permission for all of them, one for each, or none.
func TestCallsStayBounded(t *testing.T) {
	model, old := target(t, labelled), withLabels(t, "example.com", 0)
	for _, labels := range []int{1, 10, 62, 63, 100, 1000, 5000} {
		changed := withLabels(t, "example.com", labels)
		all := &grants{allow: []string{"granular:labels"}}
		if err := verifyLabels(t, New(all), model, old, changed); err != nil || len(all.asked) != 3 {
			t.Errorf("%d labels, one permission: %d calls, %v", labels, len(all.asked), err)
		}
		none := &grants{}
		if err := verifyLabels(t, New(none), model, old, changed); !apierrors.IsForbidden(err) || len(none.asked) != 3 {
			t.Errorf("%d labels, no permission: %d calls, %v", labels, len(none.asked), err)
		}
		own := &each{}
		err := verifyLabels(t, New(own), model, old, changed)
		// Two more general ones are refused first, and remembered. What is allowed is shown
		// to who may get it, which takes one question more.
		asked := own.calls
		if err == nil {
			asked--
		}
		if fits := labels+2 <= decide.DefaultBudget; fits != (err == nil) || asked != min(labels+2, decide.DefaultBudget) {
			t.Errorf("%d labels, one permission each: %d calls, %v", labels, own.calls, err)
		}
	}
}

// BenchmarkLabels is the time of a granular update as the labels that it changes grow,
// the authorizer aside.
func BenchmarkLabels(b *testing.B) {
	model, old := target(b, labelled), withLabels(b, "example.com", 0)
	for _, labels := range []int{1, 10, 100, 1000, 5000} {
		changed := withLabels(b, "example.com", labels)
		for name, tc := range map[string]struct {
			authorizer func() upstream.Authorizer
			fails      bool
		}{
			"one-permission": {func() upstream.Authorizer { return &grants{allow: []string{"granular:labels"}} },
				false},
			"one-each": {func() upstream.Authorizer { return &each{} }, labels+2 > decide.DefaultBudget},
		} {
			b.Run(fmt.Sprintf("%s/%d", name, labels), func(b *testing.B) {
				b.ReportAllocs()
				defer onThread(b)()
				for b.Loop() {
					if err := verifyLabels(b, New(tc.authorizer()), model, old, changed); (err != nil) != tc.fails {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
