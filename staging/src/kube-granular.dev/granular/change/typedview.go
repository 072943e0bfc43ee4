// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"encoding/json"
	"reflect"

	"kube-granular.dev/granular/equal"
	"kube-granular.dev/granular/internal/fast"
	"kube-granular.dev/granular/schema"
)

// typedView is a view of a value of a Go type. Its plan tells how to read the value.
type typedView struct {
	v reflect.Value
	p *typePlan
	// parentAbsent is set if the object that contains the value is absent. v is then a zero value.
	parentAbsent bool
	// elem is true for an element of a map or list, which is present even if it is a zero value.
	elem bool
}

// deref follows a pointer. For a nil pointer it returns the invalid reflect.Value.
func (v typedView) deref() reflect.Value {
	if v.v.IsValid() && v.v.Kind() == reflect.Pointer {
		return v.v.Elem()
	}
	return v.v
}

// isEmpty reports whether the value is absent, a nil pointer, or a map or slice without elements.
func (v typedView) isEmpty() bool {
	switch v.v.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Pointer, reflect.Interface:
		return v.v.IsNil()
	case reflect.Map, reflect.Slice:
		return v.v.Len() == 0
	}
	return false
}

func (v typedView) state() state {
	if v.v.IsValid() && v.elem || !v.isEmpty() {
		return present
	}
	return absent
}

func (v typedView) unset() bool { return v.parentAbsent || v.isEmpty() && !(v.elem && v.v.IsValid()) }

func (v typedView) identical(o typedView) bool {
	if !v.v.IsValid() || !o.v.IsValid() {
		return v.v.IsValid() == o.v.IsValid()
	}
	if v.v.Kind() == reflect.Pointer {
		return v.v.UnsafePointer() == o.v.UnsafePointer()
	}
	return false
}

func (v typedView) equal(o typedView) bool {
	if !v.v.IsValid() || !o.v.IsValid() {
		return v.v.IsValid() == o.v.IsValid()
	}
	if v.v.CanAddr() && o.v.CanAddr() {
		return v.p.equal(fast.Address(v.v), fast.Address(o.v))
	}
	return equal.Values(v.v, o.v)
}

func (v typedView) hasShape(*schema.Node) bool { return true }

func (v typedView) field(_ *schema.Node, i int) typedView {
	f := &v.p.fields[i]
	if f.plan == nil {
		return typedView{}
	}
	if base := v.deref(); base.IsValid() {
		return typedView{v: base.FieldByIndex(f.index), p: f.plan, parentAbsent: v.parentAbsent}
	}
	return typedView{v: f.zero, p: f.plan, parentAbsent: true}
}

// canScan reports whether both objects are present and addressable. A field of an absent object
// can have a default, which a scan does not consider.
func (v typedView) canScan(o typedView) bool {
	return !v.parentAbsent && !o.parentAbsent && v.deref().CanAddr() && o.deref().CanAddr()
}

func (v typedView) nextDiffering(position int, o typedView, found *fast.Position) (child, behind int) {
	return v.p.object.Next(fast.Address(v.deref()), fast.Address(o.deref()), position, found)
}

// same reports whether two objects are equal. It also returns the position of the first difference
// that it found, so that a later scan can begin there. It must be called only if canScan returns
// true.
func (v typedView) same(o typedView) (fast.Position, bool) {
	return v.p.object.Same(fast.Address(v.deref()), fast.Address(o.deref()))
}

// bases returns the structs of both objects. For an absent object it returns a zero struct.
func (v typedView) bases(o typedView) (a, b reflect.Value) {
	a, b = v.deref(), o.deref()
	if !a.IsValid() {
		a = v.p.zero
	}
	if !b.IsValid() {
		b = v.p.zero
	}
	return a, b
}

func (v typedView) sameRest(n *schema.Node, o typedView) bool {
	a, b := v.bases(o)
	if a.CanAddr() && b.CanAddr() {
		return v.p.restEqual(fast.Address(a), fast.Address(b))
	}
	return len(v.differing(n, o)) == 0
}

func (v typedView) differing(_ *schema.Node, o typedView) []string {
	a, b := v.bases(o)
	var out []string
	for _, r := range v.p.rest {
		if !equal.Values(a.FieldByIndex(r.index), b.FieldByIndex(r.index)) {
			out = append(out, r.name)
		}
	}
	return out
}

func (v typedView) differingKeys(o typedView) []string {
	a, b := v.deref(), o.deref()
	if a.CanAddr() && b.CanAddr() && a.Type().Elem().Kind() == reflect.String {
		return fast.DifferingKeys(fast.Address(a), fast.Address(b))
	}
	var out []string
	if a.IsValid() {
		for it := a.MapRange(); it.Next(); {
			if b.IsValid() {
				if y := b.MapIndex(it.Key()); y.IsValid() && equal.Values(it.Value(), y) {
					continue
				}
			}
			out = append(out, it.Key().String())
		}
	}
	if b.IsValid() {
		for it := b.MapRange(); it.Next(); {
			if !a.IsValid() || !a.MapIndex(it.Key()).IsValid() {
				out = append(out, it.Key().String())
			}
		}
	}
	return out
}

func (v typedView) absentElem() typedView { return typedView{p: v.p.elem, elem: true} }

func (v typedView) at(key string) typedView {
	out := v.absentElem()
	if m := v.deref(); m.IsValid() && !m.IsNil() {
		k := reflect.New(m.Type().Key()).Elem()
		k.SetString(key)
		out.v = m.MapIndex(k)
	}
	return out
}

func (v typedView) len() int {
	if list := v.deref(); list.IsValid() {
		return list.Len()
	}
	return 0
}

func (v typedView) index(i int) typedView {
	return typedView{v: v.deref().Index(i), p: v.p.elem, elem: true}
}

func (v typedView) key(n *schema.Node, i int) ([]string, bool) {
	e := v.index(i).deref()
	if !e.IsValid() {
		return make([]string, max(2, len(n.Keys()))), false
	}
	if n.Kind == schema.Set {
		text, kind, ok := scalarText(scalarOf(e))
		return []string{text, kind}, ok
	}
	out := make([]string, len(v.p.keys))
	all := true
	for i, k := range v.p.keys {
		f := e.FieldByIndex(k.index)
		value := any(nil)
		if f.Kind() == reflect.Pointer {
			f = f.Elem()
		}
		if f.IsValid() && !(f.IsZero() && k.omitted && e.FieldByIndex(k.index).Kind() != reflect.Pointer) {
			value = scalarOf(f)
		} else {
			value = k.fallback
		}
		text, _, ok := scalarText(value)
		out[i] = text
		all = all && ok
	}
	return out, all
}

func (v typedView) decoded() (any, bool) {
	if !v.v.IsValid() || !v.v.CanInterface() {
		return nil, false
	}
	data, err := json.Marshal(v.v.Interface())
	if err != nil {
		return nil, false
	}
	var out any
	if err := json.Unmarshal(data, &out); err != nil {
		return nil, false
	}
	return out, true
}

func (v typedView) omitempty() bool { return true }

// scalarOf returns a scalar of a Go type as the type that decoded JSON has for it. It returns nil
// for other values.
func scalarOf(v reflect.Value) any {
	switch {
	case v.Kind() == reflect.String:
		return v.String()
	case v.Kind() == reflect.Bool:
		return v.Bool()
	case v.CanInt():
		return v.Int()
	case v.CanUint():
		return int64(v.Uint())
	case v.CanFloat():
		return v.Float()
	}
	return nil
}

func (v typedView) isStringMap() bool {
	t := v.p.inner
	return t.Kind() == reflect.Map && t.Key().Kind() == reflect.String && t.Elem().Kind() == reflect.String
}

func (v typedView) text() (string, bool) {
	if v.v.Kind() != reflect.String {
		return "", false
	}
	return v.v.String(), true
}

func (v typedView) valueText(field string) (string, textState) {
	base := v.deref()
	if v.parentAbsent || !base.IsValid() {
		return "", noValue
	}
	plan := &v.p.value
	if field != "" {
		if base = base.FieldByIndex(plan.index); base.Kind() == reflect.Pointer {
			base = base.Elem()
		}
		if !base.IsValid() || plan.omitted && base.IsZero() {
			return "", hasText
		}
	} else if plan.omitted && v.v.Kind() != reflect.Pointer && base.IsZero() {
		return "", noValue
	}
	text, _, ok := scalarText(scalarOf(base))
	if !ok {
		return "", noText
	}
	return text, hasText
}

func (v typedView) objectName() string {
	for i, child := range v.p.node.Fields() {
		if child.Field == "metadata" && v.p.fields[i].plan != nil {
			if name := v.field(v.p.node, i).textField("name"); name != "" {
				return name
			}
		}
	}
	return v.textField("name")
}

// textField returns the text of a string field, whether or not the tree has the field.
func (v typedView) textField(field string) string {
	base := v.deref()
	if !base.IsValid() || v.p.inner.Kind() != reflect.Struct {
		return ""
	}
	for _, r := range v.p.rest {
		if f := base.FieldByIndex(r.index); r.name == field && f.Kind() == reflect.String {
			return f.String()
		}
	}
	for i, child := range v.p.node.Fields() {
		if f := &v.p.fields[i]; child.Field == field && f.plan != nil {
			name, _ := v.field(v.p.node, i).text()
			return name
		}
	}
	return ""
}
