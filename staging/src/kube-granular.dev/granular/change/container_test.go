// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWithContainer shows which changes have WithContainer set: those that also add or remove the
// object, map or list that contains the field.
func TestWithContainer(t *testing.T) {
	const deployment, widget = "apps/v1/Deployment", "example.com/v1/Widget"
	tests := map[string]struct {
		kind, old, new string
		want           bool
	}{
		"a label beside others": {deployment, `{metadata: {labels: {a: "1"}}}`,
			`{metadata: {labels: {a: "1", b: "1"}}}`, false},
		"another value": {deployment, `{metadata: {labels: {a: "1"}}}`,
			`{metadata: {labels: {a: "2"}}}`, false},
		"the first label": {deployment, `{metadata: {name: d}}`,
			`{metadata: {name: d, labels: {a: "1"}}}`, true},
		"the last label": {deployment, `{metadata: {name: d, labels: {a: "1"}}}`,
			`{metadata: {name: d}}`, true},
		"a field of an object": {deployment, `{spec: {replicas: 1}}`, `{spec: {replicas: 2}}`, false},
		"a field with its object": {widget, `{spec: {size: 1}}`, `{spec: {size: 1, guard: {level: 1}}}`,
			true},
		"a field beside its permission": {widget, `{spec: {size: 1, guard: {mode: a}}}`,
			`{spec: {size: 1, guard: {mode: a, level: 1}}}`, false},
		"an object that has the permission": {widget, `{spec: {size: 1}}`, `{spec: {size: 1, guard: {mode: a}}}`,
			false},
		"an element of the status": {deployment, `{status: {conditions: [{type: A}]}}`,
			`{status: {conditions: [{type: A}, {type: B}]}}`, false},
		"the first element": {deployment, `{status: {replicas: 1}}`,
			`{status: {replicas: 1, conditions: [{type: B}]}}`, true},
		"everything": {widget, ``, `{spec: {size: 1}}`, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := walkerOf(t, tc.kind)
			sets := []Set{compareOrFail(t, w, All, plainOf(t, tc.old), plainOf(t, tc.new))}
			if tc.kind == deployment {
				sets = append(sets, compareOrFail(t, w, All, typedOf(t, tc.kind, tc.old), typedOf(t, tc.kind, tc.new)))
			}
			for _, set := range sets {
				if len(set) != 1 || set[0].Ambiguous {
					t.Fatalf("got %v, wanted one change", verbs(set))
				}
				if set[0].WithContainer != tc.want {
					t.Errorf("%v: %t", verbs(set), set[0].WithContainer)
				}
			}
		})
	}
}

// TestWithContainerIsOfOneChange shows that WithContainer is set only for the changes in the added
// container, and not for other changes of the same write.
func TestWithContainerIsOfOneChange(t *testing.T) {
	w := walkerOf(t, "example.com/v1/Widget")
	set := compareOrFail(t, w, All, plainOf(t, `{metadata: {labels: {a: "1"}}, spec: {size: 1}}`),
		plainOf(t, `{metadata: {labels: {a: "2"}}, spec: {size: 2, guard: {level: 1}}}`))
	var brings []bool
	for i := range set {
		brings = append(brings, set[i].WithContainer)
	}
	// In the order of the set: the label, the level of the guard, the size.
	if want := []bool{false, true, false}; !slices.Equal(brings, want) {
		t.Errorf("%v: %v, wanted %v", verbs(set), brings, want)
	}
}

// TestWithContainerOfLists shows that a change in an element of an added list has WithContainer
// set, and that no Presence change of the list is then added. This holds for atomic lists and
// list-maps.
func TestWithContainerOfLists(t *testing.T) {
	const guard = `items: {properties: {name: {type: string}, level: {x-kubernetes-permission-verb: level, x-kubernetes-permission-excluded: true}}}`
	w := walkerFor(t, `{spec: {properties: {atomic: {type: array, `+guard+`},
		named: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], `+guard+`}}}}`)
	for _, test := range []struct {
		mode Mode
		new  string
		want []string
	}{
		{ExcludedOnly, `{spec: {atomic: [{level: 1}]}}`, []string{"level .spec.atomic[*].level brings"}},
		{ExcludedOnly, `{spec: {atomic: [{}]}}`, nil},
		{All, `{spec: {atomic: [{level: 1}]}}`, []string{"- .spec", "level .spec.atomic[*].level brings"}},
		{All, `{spec: {atomic: [{}]}}`, []string{"- .spec", "- .spec *.atomic[*]"}},
		{All, `{spec: {named: [{name: a}, {name: a}]}}`, []string{"- .spec", "- .spec *.named"}},
		{ExcludedOnly, `{spec: {named: [{name: a, level: 1}, {name: a}]}}`,
			[]string{"- .spec *.named", `level .spec.named[name="a"].level brings`}},
	} {
		var got []string
		set := compareOrFail(t, w, test.mode, plainOf(t, `{a: 1}`), plainOf(t, strings.Replace(test.new, "{", "{a: 1, ", 1)))
		for i, shown := range verbs(set) {
			if set[i].WithContainer {
				shown += " brings"
			}
			got = append(got, shown)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("mode %d, %s (-want +got):\n%s", test.mode, test.new, diff)
		}
	}
}
