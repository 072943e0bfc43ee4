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

// labelled is a schema with a permission for every label. The parameter of the permission is the
// label's key.
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

// withLabels returns an object with the given number of labels, whose keys have the given domain.
func withLabels(t testing.TB, domain string, labels int) *unstructured.Unstructured {
	set := make(map[string]any, labels)
	for i := range labels {
		set[fmt.Sprintf("%s/l%d", domain, i)] = "v"
	}
	u := object(t, "{}")
	u.Object["metadata"].(map[string]any)["labels"] = set
	return u
}

// verifyLabels passes one granular update through the Gate, and returns the result of Verify.
func verifyLabels(t testing.TB, gate *Gate, model granular.Target, old, changed *unstructured.Unstructured) error {
	ctx, _ := granular.WithMarker(requestContext("update"))
	w := gate.Begin(ctx, model)
	if err := w.Submitted(ctx, changed, old); err != nil {
		t.Fatal(err)
	}
	return verify(t, w, ctx, changed, old)
}

// each is an authorizer that allows the verb for any single label, and no more general verb. It
// counts its calls.
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

// TestCallsStayBounded checks how many calls of the authorizer it takes to change from one to
// five thousand labels, for callers with one permission for all labels, with one permission for
// each label, and with none.
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
		// The two more general verbs are refused first, and not asked again. An allowed request
		// takes one more call, for the verb get.
		asked := own.calls
		if err == nil {
			asked--
		}
		if fits := labels+2 <= decide.DefaultBudget; fits != (err == nil) || asked != min(labels+2, decide.DefaultBudget) {
			t.Errorf("%d labels, one permission each: %d calls, %v", labels, own.calls, err)
		}
	}
}

// BenchmarkLabels measures a granular update that changes more and more labels. The authorizer is
// a fake, so its cost is not included.
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
