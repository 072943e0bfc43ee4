// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"slices"
	"testing"
)

// TestOutline checks what a message shows to a caller who may not see the object. Otherwise such a
// caller could remove one element after another, and the messages would name the elements.
func TestOutline(t *testing.T) {
	const widget = "example.com/v1/Widget"
	none := []string{}
	for _, test := range []struct {
		kind, old, new string
		// inBody has the keys in the body of the request. If it is nil, the body is the new
		// object.
		inBody []string
		want   string
		verbs  bool
	}{
		{deployment, "spec: {strategy: {type: A}}", "spec: {strategy: {type: B}}", none, ".spec.strategy.type", true},
		{deployment, "metadata: {labels: {foo.com/bar: v}}", "metadata: {labels: {}}", none, ".metadata.labels", false},
		{deployment, "metadata: {labels: {foo.com/bar: v}}", "metadata: {labels: {}}", nil, ".metadata.labels", false},
		{deployment, "metadata: {labels: {foo.com/bar: v}}", "metadata: {labels: {}}", []string{"foo.com/bar"},
			".metadata.labels[foo.com/bar]", true},
		{deployment, "metadata: {labels: {foo.com/bar: v}}", "metadata: {labels: {}}",
			[]string{"foo.com", "bar", "", "v"}, ".metadata.labels", false},
		{deployment, "metadata: {labels: {foo.com/bar: v}}", "metadata: {labels: {foo.com/bar: w}}", nil,
			".metadata.labels[foo.com/bar]", true},
		{deployment, "metadata: {labels: {}}", "metadata: {labels: {foo.com/bar: w}}", nil,
			".metadata.labels[foo.com/bar]", true},
		{deployment, "metadata: {finalizers: [a.com/x]}", "metadata: {finalizers: []}", nil, ".metadata.finalizers",
			false},
		{deployment, "metadata: {finalizers: [a.com/x]}", "metadata: {finalizers: []}", []string{"a.com/x"},
			`.metadata.finalizers["a.com/x"]`, true},
		{deployment, "metadata: {finalizers: []}", "metadata: {finalizers: [a.com/x]}", nil,
			`.metadata.finalizers["a.com/x"]`, true},
		{deployment, "metadata: {finalizers: [a.com/x, a.com/x]}", "metadata: {finalizers: [a.com/x]}", nil,
			`.metadata.finalizers`, false},
		{deployment, "status: {conditions: [{type: SuperSafe, reason: a}]}",
			"status: {conditions: [{type: SuperSafe, reason: b}]}", nil,
			`.status.conditions[type="SuperSafe"].reason`, true},
		{deployment, "status: {conditions: [{type: SuperSafe, reason: a}]}",
			"status: {conditions: [{type: SuperSafe, reason: b}]}", none, `.status.conditions`, false},
		{deployment, "status: {conditions: [{type: SuperSafe, reason: a}]}", "status: {conditions: []}", nil,
			`.status.conditions`, false},
		{deployment, "spec: {template: {spec: {containers: [{name: c, image: a}]}}}",
			"spec: {template: {spec: {containers: [{name: c, image: b}]}}}", nil,
			`.spec.template.spec.containers[name="c"].image`, false}, // the verbs depend on the old image
		{deployment, "spec: {template: {spec: {containers: [{name: c, image: a}]}}}",
			"spec: {template: {spec: {containers: [{name: c, image: b}]}}}", []string{"image", "0"},
			".spec.template.spec.containers", false},
		{deployment, "spec: {template: {spec: {containers: [{name: c, tty: true}]}}}",
			"spec: {template: {spec: {containers: [{name: c}]}}}", none, ".spec.template.spec.containers", false},
		{deployment, "spec: {template: {spec: {containers: [{name: c, tty: true}]}}}",
			"spec: {template: {spec: {containers: [{name: c}]}}}", []string{"c"},
			`.spec.template.spec.containers[name="c"]`, true},
		{deployment, "spec: {selector: {matchLabels: {a: x}}}", "spec: {selector: {matchLabels: {a: z}}}", none,
			".spec.selector.matchLabels", true},
		{"/v1/ConfigMap", "data: {a: secret1}", "data: {a: secret2}", none, ".data", true},
		{"/v1/ConfigMap", "immutable: true", "{}", nil, ".immutable", true},
		{widget, "spec: {steps: [{run: a}, {run: b}]}", "spec: {steps: [{run: a}, {run: c}]}", none, ".spec", true},
		{widget, "spec: {settings: {s: {deep: 1}}}", "spec: {settings: {s: {deep: 2}}}", none, ".spec.settings", false},
		{widget, "spec: {settings: {s: {deep: 1}}}", "spec: {settings: {s: {deep: 2}}}", nil, ".spec.settings[s]",
			true},
		{widget, "spec: {unknown: {secret: 1}}", "spec: {}", none, ".spec", true},
		{widget, "spec: {doors: [{floor: 1, side: left, open: true}]}", "spec: {doors: [{floor: 1, side: left}]}",
			[]string{"1"}, `.spec.doors[floor="1",side="left"].open`, true},
		{widget, "spec: {doors: [{floor: 1, side: left, open: true}]}", "spec: {doors: [{floor: 1, side: left}]}",
			[]string{"left"}, ".spec.doors", false},
		{widget, "spec: {doors: [{floor: 1, side: right, open: true}]}", "spec: {doors: [{floor: 1, side: right}]}",
			[]string{"1"}, ".spec.doors", false},
		{widget, "secret: 1", "{}", none, "", false},
		{widget, "secret: 1", "{}", nil, "", false},
		{widget, "secret: 1", "{}", []string{"secret"}, ".secret", true},
	} {
		t.Run(test.old+" to "+test.new, func(t *testing.T) {
			w := walkerOf(t, test.kind)
			old, new := plainOf(t, test.old), plainOf(t, test.new)
			set := compareOrFail(t, w, All, old, new)
			var wrote func(string) bool
			if test.inBody != nil {
				wrote = func(key string) bool { return slices.Contains(test.inBody, key) }
			}
			known, verbs := w.Sender(wrote, set).Knows(&set[0])
			if got := w.Outline(set[0], old, new, known); got != test.want || verbs != test.verbs {
				t.Errorf("got %s, verbs are known: %t", got, verbs)
			}
			if got := w.Outline(set[0], nil, nil, known); len(got) > len(test.want) {
				t.Errorf("without the objects: %s", got)
			}
		})
	}
}

// TestUnobserved checks that the sender does not know a key that somebody else changed, even if
// observed changes come before and after it in the order of paths.
func TestUnobserved(t *testing.T) {
	w := walkerOf(t, deployment)
	labels := func(text string) any { return plainOf(t, "metadata: {labels: {"+text+"}}") }
	stored := compareOrFail(t, w, All, labels("k: v"), labels("k: w"))
	for _, observed := range []string{"k: v", "a: w, k: v", "z: w, k: v", "a: w, z: w, k: v"} {
		set := compareOrFail(t, w, All, labels("k: v"), labels(observed))
		if known, verbs := w.Sender(nil, set).Knows(&stored[0]); known != 2 || verbs {
			t.Errorf("with %s observed, %d steps are known", observed, known)
		}
	}
}

// TestOutlineOfLists checks that a message names a list without a permission, and nothing inside
// it.
func TestOutlineOfLists(t *testing.T) {
	w := walkerFor(t, `{basket: {properties: {lock: {x-kubernetes-permission-verb: lock}, zone: {type: string},
		tags: {type: array, x-kubernetes-list-type: set, items: {type: string}}}}}`)
	for _, test := range []struct{ old, new, want string }{
		{`{basket: {tags: [a, b]}}`, `{basket: {tags: [a, c]}}`, ".basket.tags"},
		{`{basket: {tags: [a, b], zone: a}}`, `{basket: {tags: [a, b], zone: b}}`, ".basket.zone"},
	} {
		old, new := plainOf(t, test.old), plainOf(t, test.new)
		if got := w.Outline(compareOrFail(t, w, All, old, new)[0], old, new, 1); got != test.want {
			t.Errorf("%s to %s: %s, not %s", test.old, test.new, got, test.want)
		}
	}
}

// TestKnownBelowAPath checks that the sender of an Ambiguous change that was observed also knows
// the fields from the Path of the change to its Extent.
func TestKnownBelowAPath(t *testing.T) {
	w := walkerFor(t, `{pools: {additionalProperties: {x-kubernetes-permission-verb: pool, properties: {
		inner: {properties: {doors: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {properties: {name: {type: string}, open: {x-kubernetes-permission-verb: open}}}}}}}}}}`)
	old, new := plainOf(t, `{pools: {a: {inner: {doors: [{name: x}, {name: x}]}}}}`), plainOf(t, `{pools: {a: {inner: {doors: [{name: x}, {name: x, other: true}]}}}}`)
	for _, c := range compareOrFail(t, w, All, old, new) {
		if !c.Ambiguous {
			continue
		}
		if known, verbs := w.Sender(nil, Set{c}).Knows(&c); known != 4 || !verbs {
			t.Errorf("%d steps of %s are known, its verbs: %v", known, c.Extent(), verbs)
		}
		return
	}
	t.Error("nothing is whole")
}

// TestGoneIsOfOneElement checks that a sender knows an element that it added, but not the element
// that it removed in the same request.
func TestGoneIsOfOneElement(t *testing.T) {
	w := walkerOf(t, deployment)
	set := compareOrFail(t, w, All, plainOf(t, "status: {conditions: [{type: A}]}"), plainOf(t, "status: {conditions: [{type: B}]}"))
	var known []int
	for i := range set {
		steps, _ := w.Sender(nil, set).Knows(&set[i])
		known = append(known, steps)
	}
	if want := []int{2, 3}; !slices.Equal(known, want) {
		t.Errorf("of %v %v steps are known, not %v", verbs(set), known, want)
	}
}

// TestSenderOfApply checks that the sender of a server-side apply knows a key only if both the applied
// configuration and an observed change have it.
func TestSenderOfApply(t *testing.T) {
	w := walkerOf(t, deployment)
	labels := func(text string) any { return plainOf(t, "metadata: {labels: {"+text+"}}") }
	stored := compareOrFail(t, w, All, labels("a: v"), labels("a: w"))
	for name, test := range map[string]struct {
		body, observed string
		known          int
	}{
		"both":                 {"a", "a: w", 3},
		"only the body":        {"a", "a: v, b: w", 2},
		"only what is changed": {"b", "a: w", 2},
	} {
		wrote := func(key string) bool { return key == test.body }
		known, verbs := w.SenderOfApply(wrote, compareOrFail(t, w, All, labels("a: v"), labels(test.observed))).Knows(&stored[0])
		if known != test.known || verbs != (test.known == 3) {
			t.Errorf("%s: %d steps are known, the verbs: %t", name, known, verbs)
		}
	}
}
