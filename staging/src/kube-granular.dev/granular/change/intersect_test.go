// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestIntersect has cases in which the caller and admission change different things. In each, the
// caller must be charged for all of its own stored changes, and for no change of somebody else.
func TestIntersect(t *testing.T) {
	const widget = "example.com/v1/Widget"
	for _, test := range []struct {
		name, kind           string
		old, observed, final string
		want                 []string
	}{
		{
			name: "what a webhook adds is not the caller's", kind: deployment,
			old:      "metadata: {name: a}",
			observed: "metadata: {name: a, labels: {x: '1'}}",
			final:    "{metadata: {name: a, labels: {x: '1', y: '1'}, annotations: {z: '1'}}, spec: {replicas: 3}}",
			want:     []string{"label(x) .metadata.labels[x]"},
		},
		{
			name: "what the strategy drops never happened", kind: deployment,
			old:      "metadata: {name: a}",
			observed: "{metadata: {name: a, labels: {x: '1'}}, status: {replicas: 4}}",
			final:    "metadata: {name: a, labels: {x: '1'}}",
			want:     []string{"label(x) .metadata.labels[x]"},
		},
		{
			name: "another value than the caller's is still the caller's field", kind: deployment,
			old:      "spec: {replicas: 1}",
			observed: "spec: {replicas: 2}",
			final:    "spec: {replicas: 3}",
			want:     []string{"replicas .spec.replicas"},
		},
		{
			name: "doubled conditions that a webhook makes single", kind: deployment,
			old:      "status: {conditions: [{type: A, status: 'True'}]}",
			observed: "status: {conditions: [{type: A, status: 'True'}, {type: B, status: 'True'}, {type: B, status: 'False'}]}",
			final:    "status: {conditions: [{type: A, status: 'False'}, {type: B, status: 'True'}]}",
			want: []string{"condition(A) .status.conditions[type=\"A\"]",
				"condition(B) .status.conditions[type=\"B\"]"},
		},
		{
			name: "single conditions that a webhook doubles", kind: deployment,
			old:      "status: {conditions: [{type: A, status: 'True'}]}",
			observed: "status: {conditions: [{type: A, status: 'False'}]}",
			final:    "status: {conditions: [{type: A, status: 'False'}, {type: B}, {type: B}]}",
			want:     []string{"conditions .status.conditions *", "condition(A) .status.conditions[type=\"A\"]"},
		},
		{
			name: "a doubled list that a webhook empties", kind: deployment,
			old:      "status: {conditions: [{type: A, status: 'True'}]}",
			observed: "status: {conditions: [{type: A}, {type: A}]}",
			final:    "status: {conditions: []}",
			want:     []string{"condition(A) .status.conditions[type=\"A\"]"},
		},
		{
			name: "a shape no one expects that a webhook mends", kind: widget,
			old:      "spec: {size: 1}",
			observed: "spec: [2]",
			final:    "spec: {size: 2, colour: red}",
			want:     []string{"specification .spec", "example.com/widgetSize .spec.size"},
		},
		{
			name: "presence, with content by a webhook", kind: widget,
			old:      "metadata: {name: a}",
			observed: "{metadata: {name: a}, status: {}}",
			final:    "{metadata: {name: a}, status: {conditions: [{type: A}]}}",
			want:     []string{"status .status *"},
		},
		{
			name: "content that is dropped, with its container left", kind: widget,
			old:      "metadata: {name: a}",
			observed: "{metadata: {name: a}, status: {conditions: [{type: A}]}}",
			final:    "{metadata: {name: a}, status: {}}",
			want:     []string{"status .status *"},
		},
		{
			name: "presence of one container is not that of another", kind: widget,
			old:      "spec: {size: 1}",
			observed: "spec: {size: 1, settings: {}}",
			final:    "spec: {size: 2}",
		},
		{
			name: "null in place of absence, mended by a webhook", kind: widget,
			old:      "spec: {size: 1, settings: {a: 1}}",
			observed: "spec: {size: 1, settings: null}",
			final:    "spec: {size: 1, settings: {}}",
			want:     []string{"setting(a) .spec.settings[a]"},
		},
		{
			name: "positions that shift under the caller's element", kind: widget,
			old:      "spec: {steps: [{run: a}]}",
			observed: "spec: {steps: [{run: a, approvedBy: me}]}",
			final:    "spec: {steps: [{run: webhook}, {run: a, approvedBy: me}]}",
			want:     []string{"stepApproval .spec.steps[*].approvedBy"},
		},
		{
			name: "the order a caller asks for and gets", kind: deployment,
			old:      "spec: {template: {spec: {initContainers: [{name: a}, {name: b}]}}}",
			observed: "spec: {template: {spec: {initContainers: [{name: b}, {name: a}]}}}",
			final:    "spec: {template: {spec: {initContainers: [{name: w}, {name: b}, {name: a}]}}}",
			want:     []string{"podTemplateSpecification .spec.template.spec"},
		},
		{
			name: "keys that are spelled with the path's own characters", kind: deployment,
			old:      "metadata: {name: a}",
			observed: "metadata: {name: a, labels: {'x\"][\"y': '1'}}",
			final:    "metadata: {name: a, labels: {'x': '1'}}",
		},
		{
			name: "a whole root", kind: widget,
			old:      "",
			observed: "{}",
			final:    "metadata: {name: a}",
			want:     []string{"- . *"},
		},
		{name: "nothing observed", kind: deployment, old: "spec: {replicas: 1}", observed: "spec: {replicas: 1}",
			final: "spec: {replicas: 2}"},
		{name: "nothing final", kind: deployment, old: "spec: {replicas: 1}", observed: "spec: {replicas: 2}",
			final: "spec: {replicas: 1}"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := walkerOf(t, test.kind)
			var old any
			if o := plainOf(t, test.old); o != nil {
				old = o
			}
			observed := compareOrFail(t, w, All, old, plainOf(t, test.observed))
			final := compareOrFail(t, w, All, old, plainOf(t, test.final))
			if diff := cmp.Diff(test.want, verbs(Intersect(observed, final))); diff != "" {
				t.Errorf("observed %q, final %q (-want +got):\n%s", verbs(observed), verbs(final), diff)
			}
		})
	}
}

// TestIntersectOfLikeSets checks two sets with equally many changes, which may differ at any
// position.
func TestIntersectOfLikeSets(t *testing.T) {
	const pool = `{additionalProperties: {properties: {x: {x-kubernetes-permission-verb: x}, z: {x-kubernetes-permission-verb: z}}}}`
	w := walkerFor(t, `{pools: `+pool+`, tubs: `+pool+`, outer: {properties: {pools: `+pool+`}}}`)
	const was = `{x: 1, z: 1}`
	all := `{pools: {a: ` + was + `, b: ` + was + `}, tubs: {a: ` + was + `}, outer: {pools: {a: ` + was + `}}}`
	for _, test := range []struct {
		observed, final []string
		want            []string
	}{
		{[]string{"pools.a.x", "pools.a.z"}, []string{"pools.a.x", "pools.a.z"},
			[]string{"x .pools[a].x", "z .pools[a].z"}},
		{[]string{"pools.a.x", "pools.a.z"}, []string{"pools.a.x", "pools.b.z"}, []string{"x .pools[a].x"}},
		{[]string{"pools.a.x", "pools.b.z"}, []string{"pools.a.x", "pools.a.z"}, []string{"x .pools[a].x"}},
		{[]string{"pools.a.x"}, []string{"pools.a.z"}, nil},
		{[]string{"pools.a.x"}, []string{"tubs.a.x"}, nil},
		{[]string{"pools.b.x"}, []string{"tubs.a.z"}, nil},
		{[]string{"pools.a.x"}, []string{"outer.pools.a.x"}, nil},
		{[]string{"outer.pools.a.x"}, []string{"pools.a.x"}, nil},
	} {
		with := func(paths []string) Set {
			old, new := plainOf(t, all), plainOf(t, all)
			for _, path := range paths {
				steps := strings.Split(path, ".")
				at := new
				for _, step := range steps[:len(steps)-1] {
					at = at[step].(map[string]any)
				}
				at[steps[len(steps)-1]] = int64(2)
			}
			return compareOrFail(t, w, All, old, new)
		}
		if diff := cmp.Diff(test.want, verbs(Intersect(with(test.observed), with(test.final)))); diff != "" {
			t.Errorf("%v and %v (-want +got):\n%s", test.observed, test.final, diff)
		}
	}
}

// TestUnion checks that a union has the changes of both sets, sorted and each once.
func TestUnion(t *testing.T) {
	w := walkerOf(t, deployment)
	with := func(new string) Set { return compareOrFail(t, w, All, plainOf(t, "{}"), plainOf(t, new)) }
	first, second := with("spec: {replicas: 1}"), with("{metadata: {labels: {x: '1'}}, spec: {replicas: 2, paused: true}}")
	both := with("{metadata: {labels: {x: '1'}}, spec: {replicas: 1, paused: true}}")
	for name, got := range map[string]Set{"one way": Union(first, second), "the other way": Union(second, first), "alone": Union(both, nil), "twice": Union(both, both)} {
		if diff := cmp.Diff(verbs(both), verbs(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if got := Union(nil, nil); len(got) > 0 {
		t.Errorf("of nothing it has %q", verbs(got))
	}
}
