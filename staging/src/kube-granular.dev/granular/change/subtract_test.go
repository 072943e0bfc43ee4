// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSubtract has what admission leaves and what is about to be stored. What the storage changed by
// itself must be left, and nothing that admission or the caller changed.
func TestSubtract(t *testing.T) {
	const widget = "example.com/v1/Widget"
	for _, test := range []struct {
		name, kind           string
		old, admitted, final string
		want                 []string
	}{
		{
			name: "a field beside another", kind: deployment,
			old:      "spec: {replicas: 1}",
			admitted: "{spec: {replicas: 1}, metadata: {labels: {x: '1'}}}",
			final:    "{spec: {replicas: 2}, metadata: {labels: {x: '1'}}}",
			want:     []string{"replicas .spec.replicas"},
		},
		{
			name: "the same key elsewhere", kind: deployment,
			old:      "metadata: {name: a}",
			admitted: "metadata: {name: a, labels: {x: '1'}}",
			final:    "metadata: {name: a, annotations: {x: '1'}}",
			want:     []string{"annotation(x) .metadata.annotations[x]"},
		},
		{
			name: "another value than admission's is still admission's field", kind: deployment,
			old:      "spec: {replicas: 1}",
			admitted: "spec: {replicas: 2}",
			final:    "spec: {replicas: 3}",
		},
		{
			name: "doubled conditions that the storage makes single", kind: deployment,
			old:      "status: {conditions: [{type: A, status: 'True'}]}",
			admitted: "status: {conditions: [{type: A, status: 'True'}, {type: B, status: 'True'}, {type: B, status: 'False'}]}",
			final:    "status: {conditions: [{type: A, status: 'False'}, {type: B, status: 'True'}]}",
		},
		{
			name: "single conditions that the storage doubles", kind: deployment,
			old:      "status: {conditions: [{type: A, status: 'True'}]}",
			admitted: "status: {conditions: [{type: A, status: 'False'}]}",
			final:    "status: {conditions: [{type: A, status: 'False'}, {type: B}, {type: B}]}",
			want:     []string{"conditions .status.conditions *", `condition(B) .status.conditions[type="B"]`},
		},
		{
			name: "doubled conditions on both sides", kind: deployment,
			old:      "status: {conditions: [{type: A}]}",
			admitted: "{status: {conditions: [{type: A}, {type: A}]}}",
			final:    "{status: {conditions: [{type: A}, {type: A}]}, spec: {replicas: 1}}",
			want:     []string{"replicas .spec.replicas"},
		},
		{
			name: "the content of a container that admission added", kind: widget,
			old:      "metadata: {name: a}",
			admitted: "{metadata: {name: a}, status: {}}",
			final:    "{metadata: {name: a}, status: {conditions: [{type: A}]}}",
			want:     []string{`condition(A) .status.conditions[type="A"]`},
		},
		{
			name: "a shape no one expects on one side", kind: widget,
			old:      "spec: {size: 1}",
			admitted: "spec: {size: 2}",
			final:    "spec: [2]",
			want:     []string{"specification .spec *"},
		},
		{
			name: "nothing admitted", kind: deployment,
			old:      "spec: {replicas: 1}",
			admitted: "spec: {replicas: 1}",
			final:    "spec: {replicas: 2}",
			want:     []string{"replicas .spec.replicas"},
		},
		{
			name: "nothing final", kind: deployment,
			old:      "spec: {replicas: 1}",
			admitted: "spec: {replicas: 2}",
			final:    "spec: {replicas: 1}",
		},
		{
			name: "all of it", kind: deployment,
			old:      "spec: {replicas: 1}",
			admitted: "spec: {replicas: 2, paused: true}",
			final:    "spec: {replicas: 2, paused: true}",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := walkerOf(t, test.kind)
			old := plainOf(t, test.old)
			admitted := compareOrFail(t, w, All, old, plainOf(t, test.admitted))
			final := compareOrFail(t, w, All, old, plainOf(t, test.final))
			if diff := cmp.Diff(test.want, verbs(Subtract(final, admitted))); diff != "" {
				t.Errorf("admitted %q, final %q (-want +got):\n%s", verbs(admitted), verbs(final), diff)
			}
		})
	}
}

// TestSubtractPresence checks that a container that comes or goes stands for nothing inside it.
func TestSubtractPresence(t *testing.T) {
	w := walkerOf(t, "example.com/v1/Widget")
	old := plainOf(t, "metadata: {name: a}")
	empty := compareOrFail(t, w, All, old, plainOf(t, "{metadata: {name: a}, status: {}}"))
	if got := Subtract(empty, empty); got != nil {
		t.Errorf("from itself it leaves %q", verbs(got))
	}
	more := compareOrFail(t, w, All, old, plainOf(t, "{metadata: {name: a, labels: {x: '1'}}, status: {}}"))
	if got, want := verbs(Subtract(more, empty)), []string{"label(x) .metadata.labels[x]"}; !cmp.Equal(got, want) {
		t.Errorf("got %q, wanted %q", got, want)
	}
}

// plainSubtract is a second implementation of Subtract, which compares all pairs of changes.
func plainSubtract(changes, known Set) (out []string) {
	reach := func(c *Change) string { return spelled(c.narrowest().path()) }
	for i := range changes {
		c := &changes[i]
		if !slices.ContainsFunc(known, func(k Change) bool {
			return plainly(&k) == plainly(c) || k.Ambiguous && !k.Presence && strings.HasPrefix(reach(c), reach(&k))
		}) {
			out = append(out, plainly(c))
		}
	}
	return out
}

// TestSubtractAgreesWithItsComment compares Subtract with plainSubtract for random sets.
func TestSubtractAgreesWithItsComment(t *testing.T) {
	for seed := range uint64(20_000) {
		known, changes := randomSets(rand.New(rand.NewPCG(seed, 1)))
		var got []string
		for _, c := range Subtract(changes, known) {
			got = append(got, plainly(&c))
		}
		if diff := cmp.Diff(plainSubtract(changes, known), got); diff != "" {
			t.Fatalf("seed %d: -want +got:\n%s", seed, diff)
		}
	}
}
