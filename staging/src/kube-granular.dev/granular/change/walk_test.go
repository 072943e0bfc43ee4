// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

const deployment = "apps/v1/Deployment"

func TestCompare(t *testing.T) {
	for _, test := range []struct {
		name, kind, old, new string
		full, sparse         []string
		// plainOnly is set if a Go type can't represent the difference.
		plainOnly bool
	}{
		{
			name: "first label", kind: deployment,
			old:  "metadata: {name: web}",
			new:  "metadata: {name: web, labels: {a.com/x: '1'}}",
			full: []string{"label(a.com) .metadata.labels[a.com/x]"},
		},
		{
			name: "last label goes", kind: deployment,
			old:  "metadata: {name: web, labels: {a.com/x: '1'}}",
			new:  "metadata: {name: web, labels: {}}",
			full: []string{"label(a.com) .metadata.labels[a.com/x]"},
		},
		{
			name: "nil and empty labels are the same", kind: deployment,
			old: "metadata: {name: web}",
			new: "metadata: {name: web, labels: {}, annotations: null, finalizers: [], ownerReferences: []}",
		},
		{
			name: "a label with an empty value is there", kind: deployment,
			old:  "metadata: {labels: {a: '1'}}",
			new:  "metadata: {labels: {a: '1', b: ''}}",
			full: []string{"label(b) .metadata.labels[b]"},
		},
		{
			name: "renamed label is two changes", kind: deployment,
			old:  "metadata: {labels: {a/x: '1'}}",
			new:  "metadata: {labels: {b/x: '1'}}",
			full: []string{"label(a) .metadata.labels[a/x]", "label(b) .metadata.labels[b/x]"},
		},
		{
			name: "finalizers come, go and move", kind: deployment,
			old:  "metadata: {finalizers: [a/1, b/1, c/1]}",
			new:  "metadata: {finalizers: [c/1, a/1, d/1]}",
			full: []string{"finalizer(b) .metadata.finalizers[\"b/1\"]", "finalizer(d) .metadata.finalizers[\"d/1\"]"},
		},
		{
			name: "a finalizer twice is not once", kind: deployment,
			old:  "metadata: {finalizers: [a/1]}",
			new:  "metadata: {finalizers: [a/1, a/1]}",
			full: []string{"finalizer(a) .metadata.finalizers[\"a/1\"]"},
		},
		{
			name: "server fields are nobody's", kind: deployment,
			old: "{apiVersion: apps/v1, kind: Deployment, metadata: {resourceVersion: '1', generation: 1}}",
			new: "{metadata: {resourceVersion: '2', generation: 2, uid: u, selfLink: s, creationTimestamp: '2020-01-01T00:00:00Z', deletionGracePeriodSeconds: 3}}",
		},
		{
			name: "identity is metadata", kind: deployment,
			old:  "metadata: {name: a}",
			new:  "metadata: {name: b}",
			full: []string{"metadata .metadata"},
		},
		{
			name: "replicas and the rest of spec", kind: deployment,
			old:  "spec: {replicas: 1, minReadySeconds: 1}",
			new:  "spec: {replicas: 2, minReadySeconds: 2}",
			full: []string{"specification .spec", "replicas .spec.replicas"},
		},
		{
			name: "replicas nil is not zero", kind: deployment,
			old:  "spec: {paused: true}",
			new:  "spec: {paused: true, replicas: 0}",
			full: []string{"replicas .spec.replicas"},
		},
		{
			name: "scope keeps the template's labels apart", kind: deployment,
			old: "spec: {template: {metadata: {labels: {a/x: '1'}}, spec: {containers: [{name: c, image: i1}]}}}",
			new: "spec: {template: {metadata: {labels: {a/x: '2'}}, spec: {containers: [{name: c, image: i2}]}}}",
			full: []string{
				"podTemplateLabel(a) .spec.template.metadata.labels[a/x]",
				"podTemplateContainerImage(c) .spec.template.spec.containers[name=\"c\"].image",
			},
		},
		{
			name: "a container with its own image is the template's", kind: deployment,
			old: "spec: {template: {spec: {containers: [{name: c, image: i}]}}}",
			new: "spec: {template: {spec: {containers: [{name: d, image: i}]}}}",
			full: []string{
				"podTemplateContainer(c) .spec.template.spec.containers[name=\"c\"]",
				"podTemplateContainerImage(c) .spec.template.spec.containers[name=\"c\"].image",
				"podTemplateContainer(d) .spec.template.spec.containers[name=\"d\"]",
				"podTemplateContainerImage(d) .spec.template.spec.containers[name=\"d\"].image",
			},
		},
		{
			name: "order of containers is the template's", kind: deployment,
			old:  "spec: {template: {spec: {initContainers: [{name: c, image: i}, {name: d, image: i}]}}}",
			new:  "spec: {template: {spec: {initContainers: [{name: d, image: i}, {name: c, image: i}]}}}",
			full: []string{"podTemplateSpecification .spec.template.spec"},
		},
		{
			name: "order of conditions is nobody's", kind: deployment,
			old: "status: {conditions: [{type: A, status: 'True'}, {type: B, status: 'True'}]}",
			new: "status: {conditions: [{type: B, status: 'True'}, {type: A, status: 'True'}]}",
		},
		{
			name: "first condition of no status", kind: "example.com/v1/Widget",
			old:  "metadata: {name: w}",
			new:  "{metadata: {name: w}, status: {conditions: [{type: SuperSafe, status: 'True'}]}}",
			full: []string{"condition(SuperSafe) .status.conditions[type=\"SuperSafe\"]"}, plainOnly: true,
		},
		{
			name: "an empty status alone is status", kind: "example.com/v1/Widget",
			old:  "metadata: {name: w}",
			new:  "{metadata: {name: w}, status: {}}",
			full: []string{"status .status *"}, plainOnly: true,
		},
		{
			name: "an empty list of conditions alone", kind: "example.com/v1/Widget",
			old:  "{metadata: {name: w}}",
			new:  "{metadata: {name: w}, status: {conditions: []}}",
			full: []string{"conditions .status.conditions *"}, plainOnly: true,
		},
		{
			name: "null is not absent", kind: "example.com/v1/Widget",
			old:  "spec: {size: 1}",
			new:  "spec: {size: 1, colour: null}",
			full: []string{"specification .spec"}, plainOnly: true,
		},
		{
			name: "two conditions of one type can't be told apart", kind: deployment,
			old:  "status: {conditions: [{type: A, status: 'True'}]}",
			new:  "status: {conditions: [{type: A, status: 'True'}, {type: A, status: 'False'}]}",
			full: []string{"conditions .status.conditions *", "condition(A) .status.conditions[type=\"A\"]"},
		},
		{
			name: "two of one type swapped", kind: deployment,
			old:  "status: {conditions: [{type: A, status: 'True'}, {type: A, status: 'False'}]}",
			new:  "status: {conditions: [{type: A, status: 'False'}, {type: A, status: 'True'}]}",
			full: []string{"conditions .status.conditions *", "condition(A) .status.conditions[type=\"A\"]"},
		},
		{
			name: "a list where an object should be", kind: "example.com/v1/Widget",
			old: "spec: {size: 1, triggerSelfDestructOnSecurityBreach: true}",
			new: "spec: [1]",
			full: []string{"specification .spec *", "example.com/widgetSize .spec.size",
				"selfDestructTrigger .spec.triggerSelfDestructOnSecurityBreach"},
			sparse: []string{"specification .spec *",
				"selfDestructTrigger .spec.triggerSelfDestructOnSecurityBreach"}, plainOnly: true,
		},
		{
			name: "a field of the root no permission covers", kind: "/v1/ConfigMap",
			old:  "data: {a: b}",
			new:  "{data: {a: c}, immutable: true}",
			full: []string{"data .data", "- .immutable"},
		},
		{
			name: "an unknown field of the root", kind: "example.com/v1/Widget",
			old:  "spec: {size: 1}",
			new:  "{spec: {size: 1}, mystery: 1, '.spec': 2}",
			full: []string{"- [.spec]", "- .mystery"}, plainOnly: true,
		},
		{
			name: "excluded fields", kind: "example.com/v1/Widget",
			old: "spec: {size: 1, colour: red, guard: {mode: a, level: 1, lock: x}}",
			new: "spec: {size: 2, colour: blue, guard: {mode: b, level: 2, lock: y}, triggerSelfDestructOnSecurityBreach: true}",
			full: []string{"specification .spec", "guard .spec.guard", "guardLevel .spec.guard.level",
				"guardLock .spec.guard.lock", "example.com/widgetSize .spec.size",
				"selfDestructTrigger .spec.triggerSelfDestructOnSecurityBreach"},
			sparse: []string{"guard .spec.guard", "guardLevel .spec.guard.level", "guardLock .spec.guard.lock",
				"selfDestructTrigger .spec.triggerSelfDestructOnSecurityBreach"}, plainOnly: true,
		},
		{
			name: "an excluded field's default", kind: "example.com/v1/Widget",
			old:  "",
			new:  "{metadata: {name: w}, spec: {triggerSelfDestructOnSecurityBreach: false, doors: [{floor: 1, alarm: quiet}]}}",
			full: []string{"metadata .metadata", "specification .spec"}, plainOnly: true,
		},
		{
			name: "more than an excluded field's default", kind: "example.com/v1/Widget",
			old: "{metadata: {name: w}, spec: {doors: [{floor: 2, alarm: quiet}]}}",
			new: "{metadata: {name: w}, spec: {triggerSelfDestructOnSecurityBreach: true, doors: [{floor: 1, alarm: loud}]}}",
			full: []string{"specification .spec", "doorAlarm .spec.doors[floor=\"1\",side=\"left\"].alarm",
				"selfDestructTrigger .spec.triggerSelfDestructOnSecurityBreach"},
			sparse: []string{"doorAlarm .spec.doors[floor=\"1\",side=\"left\"].alarm",
				"selfDestructTrigger .spec.triggerSelfDestructOnSecurityBreach"}, plainOnly: true,
		},
		{
			name: "parameter of one of two keys, with a default key", kind: "example.com/v1/Widget",
			old: "spec: {doors: [{floor: 7, side: right, open: true}, {floor: 7, open: true}]}",
			new: "spec: {doors: [{floor: 7, side: left, open: false}, {floor: 7, side: right, open: false}]}",
			full: []string{
				"specification .spec", // spec is charged for the order, and for the default key that is spelled out now
				"doorOpening(7) .spec.doors[floor=\"7\",side=\"left\"].open",
				"doorOpening(7) .spec.doors[floor=\"7\",side=\"right\"].open",
			}, plainOnly: true,
		},
		{
			name: "elements of an atomic list by position", kind: "example.com/v1/Widget",
			old:  "spec: {steps: [{run: a}, {run: b, approvedBy: x}]}",
			new:  "spec: {steps: [{run: a, approvedBy: y}, {run: b, approvedBy: x}]}",
			full: []string{"stepApproval .spec.steps[*].approvedBy"}, plainOnly: true,
		},
		{
			name: "an atomic list grows", kind: "example.com/v1/Widget",
			old:  "spec: {steps: [{run: b, approvedBy: x}]}",
			new:  "spec: {steps: [{run: a}, {run: b, approvedBy: x}]}",
			full: []string{"specification .spec", "stepApproval .spec.steps[*].approvedBy"}, plainOnly: true,
		},
		{
			name: "labels of an object in the object", kind: "example.com/v1/Widget",
			old:  "spec: {template: {metadata: {labels: {a: b}}}}",
			new:  "spec: {template: {metadata: {labels: {a: c}}}}",
			full: []string{"specification .spec"}, plainOnly: true,
		},
		{
			name: "settings hold anything", kind: "example.com/v1/Widget",
			old:  "spec: {settings: {a: 1, b: {c: [1]}}}",
			new:  "spec: {settings: {a: 1.0, b: {c: [2]}, 'x y': null}}",
			full: []string{"setting(b) .spec.settings[b]", "setting(x%20y) .spec.settings[\"x y\"]"}, plainOnly: true,
		},
		{
			name: "create is everything", kind: deployment,
			new: "{metadata: {name: web, labels: {a: b}}, spec: {replicas: 1, template: {spec: {containers: [{name: c, image: i}]}}}}",
			full: []string{"metadata .metadata", "label(a) .metadata.labels[a]", "replicas .spec.replicas",
				"podTemplateContainer(c) .spec.template.spec.containers[name=\"c\"]",
				"podTemplateContainerImage(c) .spec.template.spec.containers[name=\"c\"].image"},
		},
		{
			name: "quantities by their spelling", kind: "/v1/Pod",
			old:  "spec: {containers: [{name: c, resources: {limits: {memory: 1G}}}]}",
			new:  "spec: {containers: [{name: c, resources: {limits: {memory: '1e9'}}}]}",
			full: []string{`container(c) .spec.containers[name="c"]`},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := walkerOf(t, test.kind)
			old, new := any(plainOf(t, test.old)), any(plainOf(t, test.new))
			check := func(view string, old, new any) {
				t.Helper()
				if diff := cmp.Diff(test.full, verbs(compareOrFail(t, w, All, old, new))); diff != "" {
					t.Errorf("%s, full (-want +got):\n%s", view, diff)
				}
				if diff := cmp.Diff(test.sparse, verbs(compareOrFail(t, w, ExcludedOnly, old, new))); diff != "" {
					t.Errorf("%s, sparse (-want +got):\n%s", view, diff)
				}
			}
			check("plain", old, new)
			if !test.plainOnly {
				check("typed", typedOf(t, test.kind, test.old), typedOf(t, test.kind, test.new))
			}
		})
	}
}
