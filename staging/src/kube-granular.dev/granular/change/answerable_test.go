// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAnswerable lists webhooks that move a change of the caller to another location, and webhooks
// that do not.
func TestAnswerable(t *testing.T) {
	const widget = "example.com/v1/Widget"
	for _, test := range []struct {
		name, kind           string
		old, observed, final string
		want                 []string
	}{
		{
			name: "another key of a map", kind: deployment,
			old:      "metadata: {name: a}",
			observed: "metadata: {name: a, labels: {X: '1'}}",
			final:    "metadata: {name: a, labels: {x: '1'}}",
			want:     []string{"label(X) .metadata.labels[X]"},
		},
		{
			name: "a key that is there", kind: deployment,
			old:      "metadata: {name: a, labels: {x: '0'}}",
			observed: "metadata: {name: a, labels: {x: '0', X: '1'}}",
			final:    "metadata: {name: a, labels: {x: '1'}}",
			want:     []string{"label(X) .metadata.labels[X]"},
		},
		{
			name: "a key that is taken away in the place of another", kind: deployment,
			old:      "metadata: {name: a, labels: {x: '1', y: '1'}}",
			observed: "metadata: {name: a, labels: {y: '1'}}",
			final:    "metadata: {name: a, labels: {x: '1'}}",
			want:     []string{"label(x) .metadata.labels[x]"},
		},
		{
			name: "one key of several", kind: deployment,
			old:      "metadata: {name: a}",
			observed: "metadata: {name: a, labels: {X: '1', z: '1'}}",
			final:    "metadata: {name: a, labels: {x: '1', z: '1'}}",
			want:     []string{"label(X) .metadata.labels[X]", "label(z) .metadata.labels[z]"},
		},
		{
			name: "one key of two is taken back", kind: deployment,
			old:      "metadata: {name: a}",
			observed: "metadata: {name: a, labels: {x: '1', z: '1'}}",
			final:    "metadata: {name: a, labels: {z: '1'}}",
			want:     []string{"label(z) .metadata.labels[z]"},
		},
		{
			name: "another element of a set", kind: deployment,
			old:      "metadata: {name: a}",
			observed: "metadata: {name: a, finalizers: [a.example.com/F]}",
			final:    "metadata: {name: a, finalizers: [a.example.com/f]}",
			want:     []string{"finalizer(a.example.com) .metadata.finalizers[\"a.example.com/F\"]"},
		},
		{
			name: "another element of a list", kind: deployment,
			old:      "status: {replicas: 1}",
			observed: "status: {replicas: 1, conditions: [{type: a, status: 'True'}]}",
			final:    "status: {replicas: 1, conditions: [{type: A, status: 'True'}]}",
			want:     []string{"condition(a) .status.conditions[type=\"a\"]"},
		},
		{
			name: "all keys stay, one is added", kind: deployment,
			old:      "metadata: {name: a}",
			observed: "metadata: {name: a, labels: {x: '1'}}",
			final:    "metadata: {name: a, labels: {x: '1', y: '1'}}",
			want:     []string{"label(x) .metadata.labels[x]"},
		},
		{
			name: "taken back, and another permission is used", kind: deployment,
			old:      "{metadata: {name: a}, spec: {replicas: 1}}",
			observed: "{metadata: {name: a, labels: {x: '1'}}, spec: {replicas: 1}}",
			final:    "{metadata: {name: a, annotations: {x: '1'}}, spec: {replicas: 3}}",
		},
		{
			name: "another permission of another field of the root", kind: widget,
			old:      "metadata: {name: a}",
			observed: "{metadata: {name: a}, spec: {colour: red}}",
			final:    "{metadata: {name: a}, status: {conditions: [{type: A}]}}",
		},
		{name: "nothing observed", kind: deployment, old: "spec: {replicas: 1}", observed: "spec: {replicas: 1}",
			final: "spec: {replicas: 2}"},
		{name: "nothing final", kind: deployment, old: "metadata: {name: a}",
			observed: "metadata: {name: a, labels: {x: '1'}}", final: "metadata: {name: a}"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := walkerOf(t, test.kind)
			old := any(plainOf(t, test.old))
			observed := compareOrFail(t, w, All, old, plainOf(t, test.observed))
			final := compareOrFail(t, w, All, old, plainOf(t, test.final))
			if diff := cmp.Diff(test.want, verbs(Answerable(observed, final))); diff != "" {
				t.Errorf("observed %q, final %q (-want +got):\n%s", verbs(observed), verbs(final), diff)
			}
		})
	}
}

// TestGone shows that Dropped returns true if at least one observed change has no matching final
// change.
func TestGone(t *testing.T) {
	for _, test := range []struct {
		name, old, observed, final string
		want                       bool
	}{
		{"nothing was observed", "spec: {replicas: 1}", "spec: {replicas: 1}", "spec: {replicas: 2}", false},
		{"it is there", "spec: {replicas: 1}", "spec: {replicas: 2}", "spec: {replicas: 3}", false},
		{"it is taken back", "spec: {replicas: 1}", "spec: {replicas: 2}", "spec: {replicas: 1}", true},
		{"one of two is taken back", "spec: {replicas: 1}", "{metadata: {labels: {x: '1'}}, spec: {replicas: 2}}",
			"spec: {replicas: 2}", true},
		{"the list is doubled in the end", "status: {conditions: [{type: A}]}",
			"status: {conditions: [{type: A, status: 'True'}]}", "status: {conditions: [{type: A}, {type: A}]}",
			false},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := walkerOf(t, deployment)
			old := any(plainOf(t, test.old))
			observed := compareOrFail(t, w, All, old, plainOf(t, test.observed))
			final := compareOrFail(t, w, All, old, plainOf(t, test.final))
			if got := Dropped(observed, final); got != test.want {
				t.Errorf("observed %q, final %q: %t", verbs(observed), verbs(final), got)
			}
		})
	}
}
