// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"strconv"
	"strings"

	"kube-granular.dev/granular/equal"
	"kube-granular.dev/granular/internal/fast"
	"kube-granular.dev/granular/schema"
)

// plainView is a view of decoded JSON: map[string]any, []any, string, bool, int64, float64 and
// nil.
type plainView struct {
	value   any
	present bool
	// emptyIsAbsent is true if null, an empty map and an empty list count as absent.
	emptyIsAbsent bool
}

func (v plainView) state() state {
	switch value := v.value.(type) {
	case nil:
		if v.present && !v.emptyIsAbsent {
			return null
		}
		return absent
	case map[string]any:
		if v.emptyIsAbsent && len(value) == 0 {
			return absent
		}
	case []any:
		if v.emptyIsAbsent && len(value) == 0 {
			return absent
		}
	}
	return present
}

func (v plainView) unset() bool { return v.state() == absent }

func (v plainView) identical(o plainView) bool {
	a, ok := v.value.(map[string]any)
	b, ok2 := o.value.(map[string]any)
	return ok && ok2 && equal.SameMap(a, b)
}

func (v plainView) equal(o plainView) bool {
	a, b := v.state(), o.state()
	return a == b && (a != present || equal.JSON(v.value, o.value))
}

func (v plainView) canScan(plainView) bool { return false }

func (v plainView) nextDiffering(int, plainView, *fast.Position) (child, behind int) { return 0, 0 }

func (v plainView) hasShape(n *schema.Node) bool {
	ok := v.state() != present
	switch n.Kind {
	case schema.Object, schema.Map:
		_, isMap := v.value.(map[string]any)
		return ok || isMap
	case schema.Leaf:
		return true
	}
	_, isList := v.value.([]any)
	return ok || isList
}

func (v plainView) object() map[string]any {
	m, _ := v.value.(map[string]any)
	return m
}

func (v plainView) list() []any {
	l, _ := v.value.([]any)
	return l
}

func (v plainView) field(n *schema.Node, i int) plainView {
	child := n.Fields()[i]
	value, ok := v.object()[child.Field]
	return plainView{value: value, present: ok, emptyIsAbsent: child.NilIsEmpty}
}

func (v plainView) sameRest(n *schema.Node, o plainView) bool {
	a, b := v.object(), o.object()
	for field, x := range a {
		if y, ok := b[field]; !sameField(n, field, plainView{x, true, n.NilIsEmpty}, plainView{y, ok, n.NilIsEmpty}) {
			return false
		}
	}
	for field, y := range b {
		if _, ok := a[field]; !ok && !sameField(n, field, plainView{emptyIsAbsent: n.NilIsEmpty}, plainView{y, true, n.NilIsEmpty}) {
			return false
		}
	}
	return true
}

// sameField reports whether the values a and b of a field are equal. It also returns true if the
// field is none that sameRest compares: the field has a node in the tree, or the tree ignores it.
func sameField(n *schema.Node, field string, a, b plainView) bool {
	return n.Child(field) != nil || n.Ignores(field) || a.equal(b)
}

func (v plainView) differing(n *schema.Node, o plainView) []string {
	var out []string
	for field := range v.object() {
		if !sameField(n, field, v.at(field), o.at(field)) {
			out = append(out, field)
		}
	}
	for field := range o.object() {
		if _, ok := v.object()[field]; !ok && !sameField(n, field, plainView{}, o.at(field)) {
			out = append(out, field)
		}
	}
	return out
}

func (v plainView) differingKeys(o plainView) []string {
	a, b := v.object(), o.object()
	var out []string
	for k, x := range a {
		if y, ok := b[k]; !ok || !equal.JSON(x, y) {
			out = append(out, k)
		}
	}
	for k := range b {
		if _, ok := a[k]; !ok {
			out = append(out, k)
		}
	}
	return out
}

func (v plainView) at(key string) plainView {
	value, ok := v.object()[key]
	return plainView{value: value, present: ok}
}

func (v plainView) absentElem() plainView { return plainView{} }

func (v plainView) len() int { return len(v.list()) }

func (v plainView) index(i int) plainView { return plainView{value: v.list()[i], present: true} }

func (v plainView) key(n *schema.Node, i int) ([]string, bool) {
	value := v.list()[i]
	if n.Kind == schema.Set {
		text, kind, ok := scalarText(value)
		return []string{text, kind}, ok
	}
	element, ok := value.(map[string]any)
	if !ok {
		return nil, false
	}
	names := n.Keys()
	out := make([]string, len(names), len(names)+1)
	kinds, all := "", true
	for i, key := range names {
		k, there := element[key.Name]
		if !there {
			k = key.Default
		}
		text, kind, ok := scalarText(k)
		out[i] = text
		kinds += kind
		all = all && ok
	}
	return append(out, kinds), all // the types tell 80 from "80"
}

func (v plainView) decoded() (any, bool) { return v.value, v.present }

func (v plainView) omitempty() bool { return false }

// scalarText returns the text of a scalar, as parameters and messages show it, and a letter for its
// type. It returns false if v is not a scalar.
func scalarText(v any) (text, kind string, ok bool) {
	switch v := v.(type) {
	case string:
		return v, "s", true
	case bool:
		return strconv.FormatBool(v), "b", true
	}
	if i, ok := equal.Integer(v); ok {
		return strconv.FormatInt(i, 10), "n", true
	}
	if f, ok := v.(float64); ok {
		return strings.ToLower(strconv.FormatFloat(f, 'g', -1, 64)), "n", true
	}
	return "", "", false
}

func (v plainView) isStringMap() bool {
	_, ok := v.value.(map[string]any)
	return ok || v.value == nil
}

func (v plainView) text() (string, bool) {
	text, ok := v.value.(string)
	return text, ok
}

func (v plainView) valueText(field string) (string, textState) {
	if v.state() != present {
		return "", noValue
	}
	value := v.value
	if field != "" {
		object, ok := value.(map[string]any)
		if !ok {
			return "", noText
		}
		if value = object[field]; value == nil {
			return "", hasText
		}
	}
	text, _, ok := scalarText(value)
	if !ok {
		return "", noText
	}
	return text, hasText
}

func (v plainView) objectName() string {
	if name, _ := v.at("metadata").at("name").text(); name != "" {
		return name
	}
	name, _ := v.at("name").text()
	return name
}
