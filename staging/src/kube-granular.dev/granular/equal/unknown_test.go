// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package equal

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// TestSameJSON shows which values of decoded JSON are equal. A value of a type that decoded JSON
// does not have equals nothing.
func TestSameJSON(t *testing.T) {
	object, list := map[string]any{"a": 1.5}, []any{1.5}
	for _, test := range []struct {
		a, b any
		want bool
	}{
		{nil, nil, true}, {nil, false, false}, {nil, map[string]any(nil), false},
		{"a", "a", true}, {"a", "b", false}, {"1", int64(1), false},
		{true, true, true}, {true, false, false}, {true, "true", false},
		{int64(1), int64(1), true}, {int64(1), int64(2), false}, {int64(1), "1", false},
		{int64(1), 1, true}, {int64(1), int32(1), true}, {1, 2, false}, {int32(1), int32(2), false},
		{int64(1), 1.0, true}, {int64(1), 1.5, false}, {1.5, int64(1), false}, {int64(0), 0.0, true},
		{1.5, 1.5, true}, {1.5, 2.5, false}, {1.5, "1.5", false}, {1e300, 1e300, true}, {1e300, 2e300, false},
		{0.0, math.Copysign(0, -1), false}, {math.Copysign(0, -1), math.Copysign(0, -1), true}, {int64(0), math.Copysign(0, -1), false},
		{int64(math.MaxInt64), math.Pow(2, 63), false}, {math.Pow(2, 63), math.Pow(2, 63), true},
		{int64(math.MinInt64), -math.Pow(2, 63), true}, {int64(math.MinInt64), -math.Pow(2, 64), false}, {-math.Pow(2, 64), -math.Pow(2, 64), true},
		{math.NaN(), math.NaN(), true}, {math.Inf(1), math.Inf(1), true}, {math.Inf(1), math.Inf(-1), false},
		{[]any{1.5}, []any{1.5}, true}, {[]any{1.5}, []any{2.5}, false}, {[]any{}, []any(nil), false}, {[]any{}, []any{}, true}, {[]any{}, map[string]any{}, false},
		{object, object, true}, {list, list, true},
		{map[string]any{"a": "x"}, map[string]any{"a": "x"}, true}, {map[string]any{"a": "x"}, map[string]any{"a": "z"}, false},
		{map[string]any{"a": 1.5}, map[string]any{"a": 1.5}, true}, {map[string]any{"a": nil}, map[string]any{"b": nil}, false}, {map[string]any{}, map[string]any(nil), false},
		{map[string]any{"a": "x"}, map[string]any{"b": "x"}, false}, {map[string]any{"a": ""}, map[string]any{"b": ""}, false},
		{uint8(1), uint8(1), false}, {uint8(1), int64(1), false}, {float32(1.5), float32(1.5), false}, {[]string{"a"}, []string{"a"}, false}, {struct{}{}, struct{}{}, false},
	} {
		if got := JSON(test.a, test.b); got != test.want {
			t.Errorf("%#v and %#v: %t", test.a, test.b, got)
		}
		if got := JSON(test.b, test.a); got != test.want {
			t.Errorf("%#v and %#v: %t", test.b, test.a, got)
		}
	}
}

type ownJSON struct{ n int }

func (ownJSON) MarshalJSON() ([]byte, error) { return json.Marshal("own") }

type ownJSONBehindPointer struct{ n int }

func (*ownJSONBehindPointer) MarshalJSON() ([]byte, error) { return json.Marshal("own") }

// TestOpaque shows that a type with a MarshalJSON method is opaque. Exceptions are quantities,
// times and int-or-strings, whose JSON package fast knows, and pointer types.
func TestOpaque(t *testing.T) {
	for of, want := range map[reflect.Type]bool{
		reflect.TypeFor[ownJSON](): true, reflect.TypeFor[ownJSONBehindPointer](): true, reflect.TypeFor[*ownJSON](): false,
		reflect.TypeFor[string](): false,
		quantityType:              false, timeType: false, intstrType: false,
	} {
		if got := Opaque(of); got != want {
			t.Errorf("%s: %t", of, got)
		}
	}
}

type ownText string

func (ownText) MarshalJSON() ([]byte, error) { return json.Marshal("own") }

type ownList []string

func (ownList) MarshalJSON() ([]byte, error) { return json.Marshal("own") }

type ownMap map[string]string

func (ownMap) MarshalJSON() ([]byte, error) { return json.Marshal("own") }

// TestOpaqueIsLikeNothing shows that for Exact and Bitwise a value with its own MarshalJSON method
// equals nothing, not even itself. If both sides have the same slice, map or pointer in memory, the
// values inside are not compared, and the two sides are equal.
func TestOpaqueIsLikeNothing(t *testing.T) {
	for _, test := range []struct {
		value any
		want  bool
	}{
		{&struct{ A ownText }{"a"}, false},
		{&struct{ A ownList }{ownList{"a"}}, false},
		{&struct{ A ownMap }{ownMap{"a": "b"}}, false},
		{&struct{ A json.RawMessage }{json.RawMessage("{}")}, false},
		{&struct{ A ownJSON }{}, false},
		{&struct{ A []ownText }{[]ownText{"a"}}, true},
		{&struct{ A map[string]ownText }{map[string]ownText{"a": "a"}}, true},
		{&struct{ A *ownText }{new(ownText)}, true},
	} {
		a := reflect.ValueOf(test.value).Elem()
		b := reflect.New(a.Type()).Elem()
		b.Set(a)
		for name, of := range map[string]func(reflect.Type) func(a, b reflect.Value) bool{"Exact": Exact, "Bitwise": Bitwise} {
			if got := of(a.Type())(a, b); got != test.want {
				t.Errorf("%s of %s: %v", name, a.Type(), got)
			}
		}
		if !Values(a, b) || !strict.Of(a.Type())(a.Addr().UnsafePointer(), b.Addr().UnsafePointer()) {
			t.Errorf("Values of %s", a.Type())
		}
	}
}

// TestHiddenValues shows that a Quantity, Time or IntOrString in an unexported field equals
// nothing: reflection can't read such a field as a value of its type.
func TestHiddenValues(t *testing.T) {
	for _, value := range []any{
		&struct{ a resource.Quantity }{}, &struct{ a time.Time }{}, &struct{ a intstr.IntOrString }{},
	} {
		a, b := reflect.ValueOf(value).Elem(), reflect.New(reflect.TypeOf(value).Elem()).Elem()
		for name, equal := range map[string]func(a, b reflect.Value) bool{"Values": Values, "exactly": exactlyEqual, "bitwise": bitwiseEqual} {
			if equal(a, b) {
				t.Errorf("%s of %s", name, a.Type())
			}
		}
	}
}

// TestUnknownKinds shows that values of a kind that API types do not have, such as complex numbers
// and functions, are not equal for any comparison. Two nil functions are equal.
func TestUnknownKinds(t *testing.T) {
	type odd struct {
		N complex128
	}
	a, b := reflect.ValueOf(&odd{1}).Elem(), reflect.ValueOf(&odd{1}).Elem()
	for name, equal := range map[string]func(a, b reflect.Value) bool{
		"Values": Values, "Exact": Exact(a.Type()), "Bitwise": Bitwise(a.Type()),
		"exactly": exactlyEqual, "semantically": semanticallyEqual, "bitwise": bitwiseEqual,
	} {
		if equal(a, b) {
			t.Errorf("%s holds complex numbers equal", name)
		}
	}
	f, g := func() {}, func() {}
	if Values(reflect.ValueOf(f), reflect.ValueOf(g)) || Values(reflect.ValueOf(f), reflect.ValueOf(f)) {
		t.Error("functions are equal")
	}
	var none func()
	if Values(reflect.ValueOf(none), reflect.ValueOf(f)) || Values(reflect.ValueOf(f), reflect.ValueOf(none)) {
		t.Error("a function is none")
	}
	if !Values(reflect.ValueOf(none), reflect.ValueOf(none)) {
		t.Error("no function is not equal to none")
	}
}

// TestEqualityOfSizes shows that numbers of every size are compared with all their bytes: 1 differs
// from 257 in an int16.
func TestEqualityOfSizes(t *testing.T) {
	type sizes struct {
		A int8
		B int16
		C uint16
		D int32
		E int64
		F float32
		G [3]int16
		H []int16
		I map[string]int16
		J *int16
		K complex64
	}
	base := func() *sizes {
		n := int16(1)
		return &sizes{1, 1, 1, 1, 1, 1, [3]int16{1, 1, 1}, []int16{1, 1}, map[string]int16{"a": 1}, &n, 0}
	}
	type numbers struct {
		B int16
		C uint16
	}
	type element struct{ Name string }
	type lists struct {
		M map[string][]element
		N map[string][]int64
		O map[string][]string
	}
	for name, of := range map[string]func(reflect.Type) func(a, b reflect.Value) bool{"Exact": Exact, "Bitwise": Bitwise, "Semantic": Semantic} {
		equal := func(a, b any) bool {
			x, y := reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem()
			return of(x.Type())(x, y)
		}
		a, b := base(), base()
		for i := range reflect.TypeFor[sizes]().NumField() - 1 {
			x, y := reflect.ValueOf(a).Elem().Field(i), reflect.ValueOf(b).Elem().Field(i)
			if !of(x.Type())(x, y) {
				t.Errorf("%s: %s differs from itself", name, x.Type())
			}
		}
		b.B, b.C, b.H[1], b.I["a"], *b.J, b.G[2] = 257, 257, 257, 257, 257, 257
		for _, i := range []int{1, 2, 6, 7, 8, 9} {
			x, y := reflect.ValueOf(a).Elem().Field(i), reflect.ValueOf(b).Elem().Field(i)
			if of(x.Type())(x, y) {
				t.Errorf("%s: %s is the same as another", name, x.Type())
			}
		}
		if !equal(&numbers{1, 1}, &numbers{1, 1}) || equal(&numbers{1, 1}, &numbers{1, 257}) || equal(&numbers{1, 1}, &numbers{257, 1}) {
			t.Errorf("%s of a struct", name)
		}
		made := func(m string, n int64, o string) *lists {
			return &lists{map[string][]element{"a": {{Name: m}, {Name: m}}}, map[string][]int64{"a": {n, n}},
				map[string][]string{"a": {o, o}}}
		}
		if !equal(made("xx", 1, "xx"), made(strings.Clone("xx"), 1, strings.Clone("xx"))) {
			t.Errorf("%s of equal lists in a map", name)
		}
		if !equal(made("x", 1, "x"), made("x", 1, "x")) || equal(made("x", 1, "x"), made("z", 1, "x")) ||
			equal(made("x", 1, "x"), made("x", 2, "x")) || equal(made("x", 1, "x"), made("x", 1, "z")) {
			t.Errorf("%s of lists in a map", name)
		}
	}
}
