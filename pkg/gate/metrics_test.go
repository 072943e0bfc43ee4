// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/sdk/trace"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authorization/granular"
	"k8s.io/component-base/metrics/legacyregistry"

	"kube-granular.dev/pkg/metrics"
)

var registered = sync.OnceFunc(metrics.Register)

// counted returns by how much each metric grew while f ran.
func counted(t *testing.T, f func()) map[string]int {
	t.Helper()
	registered()
	read := func() map[string]int {
		families, err := legacyregistry.DefaultGatherer.Gather()
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]int{}
		for _, family := range families {
			name, ours := strings.CutPrefix(family.GetName(), "apiserver_granular_authorization_")
			if !ours {
				continue
			}
			for _, m := range family.GetMetric() {
				key := name
				for _, label := range m.GetLabel() {
					key += " " + label.GetValue()
				}
				if h := m.GetHistogram(); h != nil {
					out[key] = int(h.GetSampleCount())
					if name == "authorizer_calls" {
						out["calls in all"] = int(h.GetSampleSum())
					}
				} else {
					out[key] = int(m.GetCounter().GetValue())
				}
			}
		}
		return out
	}
	before := read()
	f()
	after := read()
	for key, n := range after {
		after[key] = n - before[key]
	}
	maps.DeleteFunc(after, func(_ string, n int) bool { return n == 0 })
	return after
}

// TestCounted checks which metrics are counted for each outcome of a request, and that each is
// counted once.
func TestCounted(t *testing.T) {
	of := target(t, strings.Replace(things, "EXCLUDED", "true", 1))
	kindOf(of)
	for name, tc := range map[string]struct {
		grants grants
		want   map[string]int
	}{
		"allowed": {grants{allow: []string{"granular:size"}},
			map[string]int{"decisions_total allowed": 1, "calls in all": 2}},
		"refused": {grants{}, map[string]int{"decisions_total refused": 1, "calls in all": 2}},
		"failed": {grants{fail: []string{"granular:specification"}},
			map[string]int{"decisions_total error": 1, "calls in all": 2}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, key := range []string{"observe_duration_seconds", "verify_duration_seconds", "authorizer_calls"} {
				tc.want[key] = 1
			}
			got := counted(t, func() {
				ctx, _ := granular.WithMarker(requestContext("update"))
				w := New(&tc.grants).Begin(ctx, of)
				if err := w.Observe(ctx, object(t, larger), object(t, plain)); err != nil {
					t.Fatal(err)
				}
				if err := w.Verify(ctx, object(t, larger), object(t, plain)); err != nil {
					_ = w.RespondError(ctx, err)
				} else {
					w.Respond(ctx, object(t, larger))
				}
			})
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	// A request that fails before it is verified is recorded with no calls of the authorizer.
	got := counted(t, func() {
		ctx, _ := granular.WithMarker(requestContext("update"))
		_ = New(&grants{}).Begin(ctx, of).RespondError(ctx, apierrors.NewBadRequest(""))
	})
	if diff := cmp.Diff(map[string]int{"authorizer_calls": 1}, got); diff != "" {
		t.Errorf("failed before (-want +got):\n%s", diff)
	}
}

// TestCountsNameTheirTrace checks that the metrics of a traced request have an exemplar with its
// trace ID, and that those of an untraced request have none.
func TestCountsNameTheirTrace(t *testing.T) {
	registered()
	of := target(t, strings.Replace(things, "EXCLUDED", "true", 1))
	named := func(id string) bool {
		families, err := legacyregistry.DefaultGatherer.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, family := range families {
			if family.GetName() != "apiserver_granular_authorization_verify_duration_seconds" {
				continue
			}
			for _, bucket := range family.GetMetric()[0].GetHistogram().GetBucket() {
				for _, label := range bucket.GetExemplar().GetLabel() {
					if label.GetValue() == id {
						return true
					}
				}
			}
		}
		return false
	}
	for _, sampled := range []bool{true, false} {
		sampler := trace.NeverSample()
		if sampled {
			sampler = trace.AlwaysSample()
		}
		ctx, span := trace.NewTracerProvider(trace.WithSampler(sampler)).Tracer("").Start(requestContext("update"), "Update")
		marked, _ := granular.WithMarker(ctx)
		w := New(&grants{allow: []string{"granular:size"}}).Begin(marked, of)
		if err := w.Observe(marked, object(t, larger), object(t, plain)); err != nil {
			t.Fatal(err)
		}
		if err := w.Verify(marked, object(t, larger), object(t, plain)); err != nil {
			t.Fatal(err)
		}
		span.End()
		if got := named(span.SpanContext().TraceID().String()); got != sampled {
			t.Errorf("sampled: %t, named: %t", sampled, got)
		}
	}
}

// TestTreesAreCounted checks that each compilation of a permission tree is counted once, as
// compiled or as failed.
func TestTreesAreCounted(t *testing.T) {
	for text, want := range map[string]string{
		strings.Replace(things, "EXCLUDED", "true", 1):                                                       "compiled",
		strings.Replace(strings.Replace(things, "EXCLUDED", "true", 1), `"size"}`, `"Not A Permission"}`, 1): "failed",
	} {
		of := target(t, text)
		got := counted(t, func() { kindOf(of); kindOf(of) })
		if diff := cmp.Diff(map[string]int{"trees_compiled_total " + want: 1}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// TestOverBudgetIsCounted checks that a request that would need too many authorization checks is
// refused with a verb to hold instead, and is counted.
func TestOverBudgetIsCounted(t *testing.T) {
	const tagged = `{
  "type": "object",
  "x-kubernetes-group-version-kind": [{"group": "example.com", "version": "v1", "kind": "Thing"}],
  "properties": {
    "tags": {"type": "object", "x-kubernetes-permission-verb": "tags", "x-kubernetes-permission-parameter-source": "tag",
      "additionalProperties": {"type": "string", "x-kubernetes-permission-verb": "tag", "x-kubernetes-permission-parameterized-by": "tag"}}
  }
}`
	var tags []string
	g := &grants{}
	for i := range 70 {
		tags = append(tags, fmt.Sprintf(`"t%d":"x"`, i))
		g.allow = append(g.allow, fmt.Sprintf("granular:tag(t%d)", i))
	}
	of := target(t, tagged)
	kindOf(of)
	got := counted(t, func() {
		ctx, marker := granular.WithMarker(requestContext("update"))
		w := New(g).Begin(ctx, of)
		after, before := object(t, `{"tags":{`+strings.Join(tags, ",")+`,"kept":"x"}}`), object(t, `{"tags":{"kept":"x"}}`)
		judged(t, verify(t, w, ctx, after, before), marker, `more than 64 permissions would have to be checked for this request; hold the verb "granular:tags" instead`)
	})
	if got["over_budget_total"] != 1 || got["decisions_total refused"] != 1 {
		t.Errorf("counted %v", got)
	}
}
