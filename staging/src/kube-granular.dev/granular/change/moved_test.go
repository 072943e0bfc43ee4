// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"kube-granular.dev/granular/schema"
)

// walkerFor returns a Walker for a schema. The argument is the properties of the schema, as YAML.
func walkerFor(t testing.TB, properties string) *Walker {
	t.Helper()
	root := &spec.Schema{}
	if err := yaml.UnmarshalStrict([]byte("{properties: "+properties+"}"), root); err != nil {
		t.Fatal(err)
	}
	tree, err := schema.Compile(map[string]*spec.Schema{"root": root}, "root")
	if err != nil {
		t.Fatal(err)
	}
	return NewWalker(tree)
}

// TestPutInAnothersPlace shows the changes of a list in which two elements have the same key: an
// Ambiguous change of the list, and a change of each element that differs at its position.
func TestPutInAnothersPlace(t *testing.T) {
	const whole = "conditions .status.conditions *"
	condition := func(of string) string { return "condition(" + of + `) .status.conditions[type="` + of + `"]` }
	for name, test := range map[string]struct {
		old, new string
		want     []string
	}{
		"put in its place": {"{type: A}, {type: A}, {type: C}", "{type: A}, {type: A}, {type: B}",
			[]string{whole, condition("B"), condition("C")}},
		"before the others": {"{type: A}, {type: A}", "{type: B}, {type: A}, {type: A}",
			[]string{whole, condition("A"), condition("B")}},
		"taken away": {"{type: A}, {type: A}", "{type: A}", []string{whole, condition("A")}},
		"another twin": {"{type: A}, {type: B}", "{type: B}, {type: B}",
			[]string{whole, condition("A"), condition("B")}},
	} {
		t.Run(name, func(t *testing.T) {
			w := walkerOf(t, deployment)
			old, new := "status: {conditions: ["+test.old+"]}", "status: {conditions: ["+test.new+"]}"
			if diff := cmp.Diff(test.want, verbs(compareOrFail(t, w, All, plainOf(t, old), plainOf(t, new)))); diff != "" {
				t.Errorf("plain (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.want, verbs(compareOrFail(t, w, All, typedOf(t, deployment, old), typedOf(t, deployment, new)))); diff != "" {
				t.Errorf("typed (-want +got):\n%s", diff)
			}
		})
	}
}

// pointers is a kind whose map and list elements are pointers.
type pointers struct {
	Spec struct {
		List  []*pointed          `json:"list,omitempty"`
		Map   map[string]*pointed `json:"map,omitempty"`
		Plain []*pointed          `json:"plain,omitempty"`
	} `json:"spec"`
}

type pointed struct {
	Name  string `json:"name,omitempty"`
	Guard string `json:"guard,omitempty"`
}

// TestElementsBehindPointers shows that Compare handles elements that are pointers, also nil
// pointers, like other elements.
func TestElementsBehindPointers(t *testing.T) {
	w := walkerFor(t, `{spec: {x-kubernetes-permission-verb: specification, properties: {
		list: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {properties: {name: {type: string}, guard: {type: string, x-kubernetes-permission-verb: guard}}}},
		map: {additionalProperties: {properties: {guard: {type: string, x-kubernetes-permission-verb: guard}}}},
		plain: {type: array, items: {properties: {guard: {type: string, x-kubernetes-permission-verb: guard}}}}}}}`)
	for _, test := range []struct {
		old, new string
		want     []string
	}{
		{`{list: [{name: a, guard: x}]}`, `{list: [{name: a, guard: y}]}`,
			[]string{`guard .spec.list[name="a"].guard`}},
		{`{list: [{name: a, guard: x}, {name: b, guard: x}]}`, `{list: [{name: a, guard: x}]}`,
			[]string{`specification .spec`, `guard .spec.list[name="b"].guard`}},
		{`{list: [{name: a, guard: x}]}`, `{list: [{name: a, guard: x}, {name: b, guard: x}]}`,
			[]string{`specification .spec`, `guard .spec.list[name="b"].guard`}},
		{`{map: {a: {guard: x}, b: {guard: x}}}`, `{map: {a: {guard: x}}}`, []string{`guard .spec.map[b].guard`}},
		{`{map: {a: {guard: x}}}`, `{map: {a: {guard: x}, b: {guard: x}}}`, []string{`guard .spec.map[b].guard`}},
		{`{plain: [{guard: x}, {guard: x}]}`, `{plain: [{guard: x}]}`,
			[]string{`specification .spec`, `guard .spec.plain[*].guard`}},
		{`{plain: [{guard: x}, null]}`, `{plain: [null, {guard: x}]}`, []string{`guard .spec.plain[*].guard`}},
		{`{list: [null]}`, `{list: [{name: a, guard: x}]}`,
			[]string{`specification .spec`, `specification .spec *.list`, `specification .spec *.list[name=""]`,
				`guard .spec.list[name="a"].guard`}},
	} {
		var objects [2]pointers
		for i, text := range []string{test.old, test.new} {
			if err := yaml.Unmarshal([]byte("spec: "+text), &objects[i]); err != nil {
				t.Fatal(err)
			}
		}
		got := verbs(compareOrFail(t, w, All, &objects[0], &objects[1]))
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s to %s (-want +got):\n%s", test.old, test.new, diff)
		}
	}
}

// TestLocateInAtomicList shows that Locate names no field below an element of an atomic list:
// elements have no identity, so the field could belong to another element.
func TestLocateInAtomicList(t *testing.T) {
	w := walkerFor(t, `{spec: {x-kubernetes-permission-verb: specification, properties: {
		steps: {type: array, items: {properties: {approval: {x-kubernetes-permission-verb: approval, properties: {by: {type: string}, at: {type: string}}}}}}}}}`)
	old := plainOf(t, `spec: {steps: [{approval: {by: a, at: x}}, {approval: {by: a, at: x}}]}`)
	new := plainOf(t, `spec: {steps: [{approval: {by: a, at: x}}, {approval: {by: a, at: y}}]}`)
	set := compareOrFail(t, w, All, old, new)
	if len(set) != 1 {
		t.Fatal(verbs(set))
	}
	for _, want := range []string{".spec.steps[*].approval"} {
		if got := w.Locate(set[0], old, new); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	old = plainOf(t, `spec: {steps: [{approval: {by: a, at: x}}, {approval: {by: a, at: x}}]}`)
	new = plainOf(t, `spec: {steps: [{approval: {by: b, at: x}}, {approval: {by: a, at: y}}]}`)
	for i, c := range compareOrFail(t, w, All, old, new) {
		if got, want := w.Locate(c, old, new), ".spec.steps[*].approval"; got != want {
			t.Errorf("change %d: %s, want %s", i, got, want)
		}
	}
}
