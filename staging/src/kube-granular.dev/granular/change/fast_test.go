// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kube-granular.dev/granular/change/internal/fast"
)

// zoo has a field of every kind a Go API type may have, and some it may not.
type zoo struct {
	B      bool
	I8     int8
	I32    int32
	I64    int64
	U8     uint8
	F      float64
	S      string
	P      *int32
	PP     **string
	Sl     []string
	Bytes  []byte
	I32s   []int32
	Floats []float64
	Self   *zoo
	Selfs  []zoo
	M      map[string]string
	MB     map[string][]byte
	MS     map[string][]string
	MQ     corev1.ResourceList
	MI     map[int32]string
	MZ     map[string]zoo
	Any    any
	Raw    *runtime.RawExtension
	Q      resource.Quantity
	T      metav1.Time
	PT     *metav1.MicroTime
	IS     intstr.IntOrString
	Arr    [3]int16
	Fun    func()
	Inner  struct {
		A bool
		B int64
		c string
	}
	metav1.TypeMeta `json:",inline"`
}

func fill(r *rand.Rand, v reflect.Value, depth int) {
	if r.IntN(3) == 0 {
		return
	}
	switch v.Type() {
	case quantityType:
		text := []string{"1G", "1e9", "1000M", "0", "0.5", "500m", "123456789012345678901234567890"}[r.IntN(7)]
		q := resource.MustParse(text)
		if r.IntN(2) == 0 {
			_ = q.String()
		}
		v.Set(reflect.ValueOf(q))
		return
	case timeType:
		zone := []*time.Location{time.UTC, time.FixedZone("x", 3600)}[r.IntN(2)]
		v.Set(reflect.ValueOf(time.Unix(int64(r.IntN(3)), 0).In(zone)))
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(r.IntN(3)))
	case reflect.Uint8:
		v.SetUint(uint64(r.IntN(3)))
	case reflect.Float64:
		v.SetFloat([]float64{0, math.Copysign(0, -1), math.NaN(), 1}[r.IntN(4)])
	case reflect.String:
		v.SetString([]string{"", "a", "b"}[r.IntN(3)])
	case reflect.Pointer:
		if depth > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(r, v.Elem(), depth-1)
		}
	case reflect.Slice:
		if depth > 0 {
			v.Set(reflect.MakeSlice(v.Type(), r.IntN(3), 3))
			for i := range v.Len() {
				fill(r, v.Index(i), depth-1)
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(r, v.Index(i), depth)
		}
	case reflect.Map:
		if depth > 0 {
			v.Set(reflect.MakeMap(v.Type()))
			for range r.IntN(3) {
				key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
				fill(r, key, 0)
				fill(r, elem, depth-1)
				v.SetMapIndex(key, elem)
			}
		}
	case reflect.Interface:
		if v.NumMethod() == 0 {
			v.Set(reflect.ValueOf([]any{"a", int64(1), 1.0, map[string]any{"x": []any{nil, true}}, zoo{I32: 1}}[r.IntN(5)]))
		} else if depth > 0 {
			v.Set(reflect.ValueOf([]runtime.Object{&corev1.ConfigMap{Data: map[string]string{"a": "b"}}, &corev1.Pod{}}[r.IntN(2)]))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(r, v.Field(i), depth)
			}
		}
	}
}

// agreeFast holds the compiled comparison to the reference: on twins, on
// strangers, and on twins of which one field was filled anew.
func agreeFast(t *testing.T, seed uint64) (equal bool) {
	t.Helper()
	a, b := &zoo{}, &zoo{}
	fill(rand.New(rand.NewPCG(seed, 3)), reflect.ValueOf(a).Elem(), 3)
	fill(rand.New(rand.NewPCG(seed, 3)), reflect.ValueOf(b).Elem(), 3)
	r := rand.New(rand.NewPCG(seed, 4))
	field := reflect.ValueOf(b).Elem().Field(r.IntN(reflect.TypeFor[zoo]().NumField()))
	if seed%3 > 0 {
		field.SetZero()
		if fill(r, field, 2); seed%3 == 2 {
			b.Inner.c = "x"
		}
	}
	compare := compiled.Of(reflect.TypeFor[zoo]())
	for _, pair := range [][2]*zoo{{a, b}, {b, a}, {a, a}} {
		x, y := reflect.ValueOf(pair[0]), reflect.ValueOf(pair[1])
		want := equalTyped(x.Elem(), y.Elem())
		if got := compare(x.UnsafePointer(), y.UnsafePointer()); got != want {
			t.Fatalf("seed %d: fast says %v, the reference %v\n%+v\n%+v", seed, got, want, pair[0], pair[1])
		}
		equal = equal || want && pair[0] != pair[1]
		agreeObjects(t, seed, pair[0], pair[1])
		want = exactlyEqual(x.Elem(), y.Elem())
		if got := Equality(x.Elem().Type())(x.Elem(), y.Elem()); got != want {
			t.Fatalf("seed %d: exactly, fast says %v, the reference %v\n%+v\n%+v", seed, got, want, pair[0], pair[1])
		}
		want = bitwiseEqual(x.Elem(), y.Elem())
		if got := Identity(x.Elem().Type())(x.Elem(), y.Elem()); got != want {
			t.Fatalf("seed %d: bitwise, fast says %v, the reference %v\n%+v\n%+v", seed, got, want, pair[0], pair[1])
		}
		want = semanticallyEqual(x.Elem(), y.Elem())
		if got := Semantic(x.Elem().Type())(x.Elem(), y.Elem()); got != want {
			t.Fatalf("seed %d: by semantics, fast says %v, the reference %v\n%+v\n%+v", seed, got, want, pair[0], pair[1])
		}
		want = bitwiseEqual(x.Elem(), y.Elem())
		if want && !reflect.DeepEqual(pair[0], pair[1]) && !hasNaN(x) {
			t.Fatalf("seed %d: bitwise equal, not deeply\n%+v\n%+v", seed, pair[0], pair[1])
		}
	}
	stranger := &zoo{}
	fill(rand.New(rand.NewPCG(seed, 5)), reflect.ValueOf(stranger).Elem(), 3)
	agreeObjects(t, seed, a, stranger)
	return equal
}

// parts are the fields of a zoo, every other one by itself, and the rest.
type parts struct {
	fields []int
	object *fast.Object
	inner  *fast.Object
}

func partsOf(odd int) parts {
	t := reflect.TypeFor[zoo]()
	in, _ := t.FieldByName("Inner")
	p := parts{inner: compiled.Object(in.Type, []fast.Field{{Path: []int{0}}, {Path: []int{2}}}, [][]int{{1}})}
	var fields []fast.Field
	var rest [][]int
	for i := range t.NumField() {
		switch {
		case t.Field(i).Name == "Inner":
			p.fields, fields = append(p.fields, i), append(fields, fast.Field{Path: []int{i}, Object: p.inner})
		case i%2 == odd:
			p.fields, fields = append(p.fields, i), append(fields, fast.Field{Path: []int{i}})
		default:
			rest = append(rest, []int{i})
		}
	}
	p.object = compiled.Object(t, fields, rest)
	return p
}

var zooParts = []parts{partsOf(0), partsOf(1)}

// differing asks for all fields that differ, and for those in the inner struct.
func (p parts) differing(a, b *zoo) (fields, inner map[int]bool) {
	fields, inner = map[int]bool{}, map[int]bool{}
	innerField, _ := reflect.TypeFor[zoo]().FieldByName("Inner")
	x, y, in := reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem(), slices.Index(p.fields, innerField.Index[0])
	found, same := p.object.Same(fast.Address(x), fast.Address(y))
	if same {
		return fields, inner
	}
	for f, at := p.object.Next(fast.Address(x), fast.Address(y), 0, &found); f <= len(p.fields); f, at = p.object.Next(fast.Address(x), fast.Address(y), at, &found) {
		fields[f] = true
		if f != in {
			continue
		}
		x, y := x.FieldByName("Inner"), y.FieldByName("Inner")
		for f, at := p.inner.Next(fast.Address(x), fast.Address(y), 0, &found); f <= 2; f, at = p.inner.Next(fast.Address(x), fast.Address(y), at, &found) {
			inner[f] = true
		}
	}
	return fields, inner
}

// agreeObjects holds what finds fields that differ to the reference, field by field.
func agreeObjects(t *testing.T, seed uint64, a, b *zoo) {
	t.Helper()
	p := zooParts[seed%2]
	x, y := reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem()
	fields, inner := map[int]bool{}, map[int]bool{}
	for i := range x.NumField() {
		if !equalTyped(x.Field(i), y.Field(i)) {
			at := slices.Index(p.fields, i)
			if at < 0 {
				at = len(p.fields)
			}
			fields[at] = true
		}
	}
	x, y = x.FieldByName("Inner"), y.FieldByName("Inner")
	for i, field := range []int{0, 2, 1} {
		if !equalTyped(x.Field(field), y.Field(field)) {
			inner[i] = true
		}
	}
	gotFields, gotInner := p.differing(a, b)
	if !maps.Equal(fields, gotFields) || !maps.Equal(inner, gotInner) {
		t.Fatalf("seed %d: fields %v and %v of the inner one, not %v and %v\n%+v\n%+v", seed, gotFields, gotInner, fields, inner, a, b)
	}
}

// hasNaN says that a value, which fill made, holds something unequal to itself.
func hasNaN(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Float64:
		return math.IsNaN(v.Float())
	case reflect.Pointer, reflect.Interface:
		return !v.IsNil() && hasNaN(v.Elem())
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if hasNaN(v.Index(i)) {
				return true
			}
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			if hasNaN(it.Value()) {
				return true
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if hasNaN(v.Field(i)) {
				return true
			}
		}
	}
	return false
}

func TestFastAgreesWithReference(t *testing.T) {
	equal := 0
	const rounds = 4000
	for seed := range uint64(rounds) {
		if agreeFast(t, seed) {
			equal++
		}
	}
	if equal < rounds/5 || equal > rounds*4/5 {
		t.Errorf("%d of %d pairs were equal: that is no test", equal, rounds)
	}
}

func TestExactlyEqual(t *testing.T) {
	q := resource.MustParse
	spelled := func(string) resource.Quantity {
		out := resource.NewQuantity(1e9, resource.DecimalSI)
		_ = out.String()
		return *out
	}
	for _, test := range []struct {
		name string
		a, b zoo
		want bool
	}{
		{"nil and empty map", zoo{M: map[string]string{}}, zoo{}, false},
		{"nil and empty map of bytes", zoo{MB: map[string][]byte{}}, zoo{}, false},
		{"nil and empty bytes in a map", zoo{MB: map[string][]byte{"a": {}}}, zoo{MB: map[string][]byte{"a": nil}}, false},
		{"nil and empty strings in a map", zoo{MS: map[string][]string{"a": {}}}, zoo{MS: map[string][]string{"a": nil}}, false},
		{"nil and empty map of structs", zoo{MZ: map[string]zoo{}}, zoo{}, false},
		{"nil and empty slice", zoo{Sl: []string{}}, zoo{}, false},
		{"nil and empty bytes", zoo{Bytes: []byte{}}, zoo{}, false},
		{"nil and empty slice of structs", zoo{Selfs: []zoo{}}, zoo{}, false},
		{"nil and empty deep down", zoo{Selfs: []zoo{{Sl: []string{}}}}, zoo{Selfs: []zoo{{}}}, false},
		{"two empty ones", zoo{Sl: []string{}, M: map[string]string{}}, zoo{Sl: make([]string, 0, 3), M: map[string]string{}}, true},
		{"1G is not 1e9", zoo{Q: resource.MustParse("1G")}, zoo{Q: resource.MustParse("1e9")}, false},
		{"a remembered spelling in a list", zoo{Selfs: []zoo{{Q: spelled("1G")}}}, zoo{Selfs: []zoo{{Q: q("1G")}}}, false},
		{"one spelling elsewhere", zoo{Q: q("1G")}, zoo{Q: q("1000M")}, true},
		{"one spelling in a map", zoo{MQ: corev1.ResourceList{"a": q("1G")}}, zoo{MQ: corev1.ResourceList{"a": q("1000M")}}, true},
		{"the unused half in a list", zoo{Selfs: []zoo{{IS: intstr.IntOrString{IntVal: 1, StrVal: "x"}}}}, zoo{Selfs: []zoo{{IS: intstr.FromInt32(1)}}}, false},
		{"two zones in a list", zoo{Selfs: []zoo{{T: metav1.NewTime(time.Unix(1, 0).UTC())}}}, zoo{Selfs: []zoo{{T: metav1.NewTime(time.Unix(1, 0).In(time.FixedZone("x", 60)))}}}, false},
		{"two of the same raw bytes", zoo{Raw: &runtime.RawExtension{Raw: []byte("{}")}}, zoo{Raw: &runtime.RawExtension{Raw: []byte("{}")}}, false},
		{"neither an int nor a string", zoo{IS: intstr.IntOrString{Type: 7}}, zoo{IS: intstr.IntOrString{Type: 7}}, false},
	} {
		a, b := reflect.ValueOf(&test.a).Elem(), reflect.ValueOf(&test.b).Elem()
		if got := exactlyEqual(a, b); got != test.want {
			t.Errorf("%s: equal %v", test.name, got)
		}
		if got := Equality(a.Type())(a, b); got != test.want {
			t.Errorf("%s: fast, equal %v", test.name, got)
		}
	}
}

func TestSemanticallyEqual(t *testing.T) {
	q := resource.MustParse
	now := time.Now()
	for _, test := range []struct {
		name string
		a, b zoo
		want bool
	}{
		{"nil and empty map", zoo{M: map[string]string{}}, zoo{}, true},
		{"nil and empty slice", zoo{Sl: []string{}}, zoo{}, true},
		{"nil and empty bytes in a map", zoo{MB: map[string][]byte{"a": {}}}, zoo{MB: map[string][]byte{"a": nil}}, true},
		{"an empty value and none", zoo{MB: map[string][]byte{"a": {}}}, zoo{}, false},
		{"nil and zero", zoo{P: new(int32)}, zoo{}, false},
		{"1G is 1e9", zoo{Q: q("1G")}, zoo{Q: q("1e9")}, true},
		{"1G is not 1Gi", zoo{Q: q("1G")}, zoo{Q: q("1Gi")}, false},
		{"nothing is 0", zoo{Q: q("0")}, zoo{}, true},
		{"1G is 1e9 in a map", zoo{MQ: corev1.ResourceList{"a": q("1G")}}, zoo{MQ: corev1.ResourceList{"a": q("1e9")}}, true},
		{"0 in a map is not none", zoo{MQ: corev1.ResourceList{"a": q("0")}}, zoo{}, false},
		{"a number too large for an int64", zoo{Q: q("123456789012345678901234567890")}, zoo{Q: q("123456789012345678901234567891")}, false},
		{"one instant in two zones", zoo{T: metav1.NewTime(now.UTC())}, zoo{T: metav1.NewTime(now.In(time.FixedZone("x", 60)))}, true},
		{"one instant, of which one has a monotonic clock", zoo{T: metav1.NewTime(now)}, zoo{T: metav1.NewTime(now.Round(0))}, true},
		{"two instants", zoo{T: metav1.NewTime(now)}, zoo{T: metav1.NewTime(now.Add(1))}, false},
		{"the unused half of an int-or-string", zoo{IS: intstr.IntOrString{IntVal: 1, StrVal: "x"}}, zoo{IS: intstr.FromInt32(1)}, false},
		{"neither an int nor a string", zoo{IS: intstr.IntOrString{Type: 7}}, zoo{IS: intstr.IntOrString{Type: 7}}, true},
	} {
		a, b := reflect.ValueOf(&test.a).Elem(), reflect.ValueOf(&test.b).Elem()
		if got := semanticallyEqual(a, b); got != test.want {
			t.Errorf("%s: equal %v", test.name, got)
		}
		if got := Semantic(a.Type())(a, b); got != test.want {
			t.Errorf("%s: fast, equal %v", test.name, got)
		}
	}
}

func FuzzFast(f *testing.F) {
	for seed := range uint64(3) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) { agreeFast(t, seed) })
}

func TestStrictEquality(t *testing.T) {
	q := func(s string) resource.Quantity { return resource.MustParse(s) }
	one := int32(1)
	other := int32(1)
	zero := int32(0)
	now := time.Unix(1, 0)
	for _, test := range []struct {
		name string
		a, b zoo
		want bool
	}{
		{"1G is not 1e9", zoo{Q: q("1G")}, zoo{Q: q("1e9")}, false},
		{"1G and 1000M are kept alike", zoo{Q: q("1G")}, zoo{Q: q("1000M")}, true},
		{"one instant in two zones", zoo{T: metav1.NewTime(now.UTC())}, zoo{T: metav1.NewTime(now.In(time.FixedZone("x", 60)))}, true},
		{"nil and empty map", zoo{M: map[string]string{}}, zoo{}, true},
		{"nil and empty slice", zoo{Sl: []string{}}, zoo{}, true},
		{"nil and zero", zoo{P: &zero}, zoo{}, false},
		{"two pointers to one value", zoo{P: &one}, zoo{P: &other}, true},
		{"the unused half of an int-or-string", zoo{IS: intstr.IntOrString{IntVal: 1, StrVal: "x"}}, zoo{IS: intstr.FromInt32(1)}, true},
		{"1 is not \"1\"", zoo{IS: intstr.FromInt32(1)}, zoo{IS: intstr.FromString("1")}, false},
		{"raw bytes", zoo{Raw: &runtime.RawExtension{Raw: []byte("{}")}}, zoo{Raw: &runtime.RawExtension{Raw: []byte("{ }")}}, false},
		{"0 is not -0", zoo{F: 0}, zoo{F: math.Copysign(0, -1)}, false},
		{"a key with an empty value", zoo{MB: map[string][]byte{"a": nil}}, zoo{}, false},
		{"a function is like no other", zoo{Fun: func() {}}, zoo{Fun: func() {}}, false},
	} {
		a, b := reflect.ValueOf(&test.a), reflect.ValueOf(&test.b)
		if got := equalTyped(a.Elem(), b.Elem()); got != test.want {
			t.Errorf("%s: equal %v", test.name, got)
		}
		if got := compiled.Of(a.Type().Elem())(a.UnsafePointer(), b.UnsafePointer()); got != test.want {
			t.Errorf("%s: fast, equal %v", test.name, got)
		}
	}
}
