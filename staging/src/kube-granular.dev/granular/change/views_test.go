// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"reflect"
	"strings"
	"testing"

	"kube-granular.dev/granular/schema"
)

// TestViewsOfWhatDoesNotFit shows what the methods of a view return for a value of the wrong type.
// Their callers check the type first, but the methods must be safe without that check.
func TestViewsOfWhatDoesNotFit(t *testing.T) {
	number := typedView{v: reflect.ValueOf(3)}
	if text, ok := number.text(); text != "" || ok {
		t.Errorf("a number is the text %q, %t", text, ok)
	}
	if text, ok := (typedView{v: reflect.ValueOf("x")}).text(); text != "x" || !ok {
		t.Errorf("x is the text %q, %t", text, ok)
	}
	hidden := reflect.ValueOf(struct{ field int }{1}).Field(0)
	for name, v := range map[string]reflect.Value{
		"nothing": {}, "a field that is not exported": hidden, "a function": reflect.ValueOf(func() {}),
		"what writes itself badly": reflect.ValueOf(badly{}),
	} {
		if value, ok := (typedView{v: v}).decoded(); value != nil || ok {
			t.Errorf("%s is %v, %t", name, value, ok)
		}
	}
	if value, ok := (typedView{v: reflect.ValueOf("x")}).decoded(); value != "x" || !ok {
		t.Errorf("x is %v, %t", value, ok)
	}
	for _, value := range []any{nil, "x", []any{}, map[string]any{}} {
		if !(plainView{value: value}).hasShape(&schema.Node{Kind: schema.Leaf}) {
			t.Errorf("%v does not fit a leaf", value)
		}
	}
}

// badly is a type whose MarshalJSON returns invalid JSON.
type badly struct{}

func (badly) MarshalJSON() ([]byte, error) { return []byte("{"), nil }

// TestParameterBelowItsSource shows that a permission has no parameter for a change above the map
// or list whose key is the parameter.
func TestParameterBelowItsSource(t *testing.T) {
	p := &schema.Permission{Name: "label", Parameter: &schema.Parameter{Source: "label-key", SourceDepth: 0}}
	c := Change{}
	if got := c.Parameter(p); got != "" {
		t.Errorf("the root has the parameter %q", got)
	}
}

// TestShowElement shows how a path shows the keys of an element, also if it has more keys than the
// list has key names.
func TestShowElement(t *testing.T) {
	names := []schema.Key{{Name: "name"}}
	for _, test := range []struct {
		kind  schema.NodeKind
		names []schema.Key
		keys  []string
		want  string
	}{
		{schema.ListMap, names, []string{"a"}, `[name="a"]`},
		{schema.ListMap, names, []string{"a", "b"}, `[name="a","b"]`},
		{schema.Set, names, []string{"a"}, `["a"]`},
		{schema.Set, nil, []string{"a"}, `["a"]`},
		{schema.Map, nil, []string{"a"}, `[a]`},
	} {
		var b strings.Builder
		showElement(&b, test.kind, test.names, test.keys)
		if b.String() != test.want {
			t.Errorf("%s: %s, wanted %s", test.kind, b.String(), test.want)
		}
	}
}

// TestWithContainerOfElements shows that adding an atomic list with an excluded field in an element
// is a change of that field with WithContainer set, and not a Presence change of the list.
func TestWithContainerOfElements(t *testing.T) {
	w := walkerFor(t, `{items: {type: array, x-kubernetes-permission-verb: items, items: {properties: {other: {type: string},
		guard: {type: string, x-kubernetes-permission-verb: guard, x-kubernetes-permission-excluded: true}}}}}`)
	for _, mode := range []Mode{ExcludedOnly, All} {
		set := compareOrFail(t, w, mode, plainOf(t, `{}`), plainOf(t, `{items: [{guard: a}]}`))
		found := false
		for i := range set {
			if set[i].Presence {
				t.Errorf("%v: %v is one of presence", mode, set[i].String())
			}
			if set[i].Node.Last().Name == "guard" {
				found = set[i].WithContainer
			}
		}
		if !found {
			t.Errorf("%v: of %v none is the guard, which brings the list", mode, verbs(set))
		}
	}
	if set := compareOrFail(t, w, ExcludedOnly, plainOf(t, `{}`), plainOf(t, `{items: [{other: a}]}`)); len(set) > 0 {
		t.Errorf("without an excluded field: %v", verbs(set))
	}
}

// TestWithinWhatDoesNotFit shows that Locate finds no values in a Go object of another type, and
// none for a field that is not in the permission tree.
func TestWithinWhatDoesNotFit(t *testing.T) {
	const properties = `{parts: {type: array, items: {properties: {name: {type: string, x-kubernetes-permission-verb: named}}}}}`
	w := walkerFor(t, properties)
	if value, ok := w.valueAt(3, nil); value != nil || ok {
		t.Errorf("a number is %v, %t", value, ok)
	}
	if value, ok := w.valueAt(&strange{}, Path{{Field: "nothing"}}); value != nil || ok {
		t.Errorf("a field in no tree is %v, %t", value, ok)
	}
	for _, objects := range [][2]any{{3, &strange{}}, {&strange{}, 3}} {
		if got := w.pairAt(nil, objects[0], objects[1]); got.a != nil || got.b != nil {
			t.Errorf("the place of a change in %T and %T is %v", objects[0], objects[1], got)
		}
	}
}
