// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package equal

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

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
		{"nil and empty bytes in a map", zoo{MB: map[string][]byte{"a": {}}}, zoo{MB: map[string][]byte{"a": nil}},
			false},
		{"nil and empty strings in a map", zoo{MS: map[string][]string{"a": {}}},
			zoo{MS: map[string][]string{"a": nil}}, false},
		{"nil and empty map of structs", zoo{MZ: map[string]zoo{}}, zoo{}, false},
		{"nil and empty slice", zoo{Sl: []string{}}, zoo{}, false},
		{"nil and empty bytes", zoo{Bytes: []byte{}}, zoo{}, false},
		{"nil and empty slice of structs", zoo{Selfs: []zoo{}}, zoo{}, false},
		{"nil and empty deep down", zoo{Selfs: []zoo{{Sl: []string{}}}}, zoo{Selfs: []zoo{{}}}, false},
		{"two empty ones", zoo{Sl: []string{}, M: map[string]string{}},
			zoo{Sl: make([]string, 0, 3), M: map[string]string{}}, true},
		{"1G is not 1e9", zoo{Q: resource.MustParse("1G")}, zoo{Q: resource.MustParse("1e9")}, false},
		{"a remembered spelling in a list", zoo{Selfs: []zoo{{Q: spelled("1G")}}}, zoo{Selfs: []zoo{{Q: q("1G")}}},
			false},
		{"one spelling elsewhere", zoo{Q: q("1G")}, zoo{Q: q("1000M")}, true},
		{"one spelling in a map", zoo{MQ: corev1.ResourceList{"a": q("1G")}},
			zoo{MQ: corev1.ResourceList{"a": q("1000M")}}, true},
		{"the unused half in a list", zoo{Selfs: []zoo{{IS: intstr.IntOrString{IntVal: 1, StrVal: "x"}}}},
			zoo{Selfs: []zoo{{IS: intstr.FromInt32(1)}}}, false},
		{"two zones in a list", zoo{Selfs: []zoo{{T: metav1.NewTime(time.Unix(1, 0).UTC())}}},
			zoo{Selfs: []zoo{{T: metav1.NewTime(time.Unix(1, 0).In(time.FixedZone("x", 60)))}}}, false},
		{"two of the same raw bytes", zoo{Raw: &runtime.RawExtension{Raw: []byte("{}")}},
			zoo{Raw: &runtime.RawExtension{Raw: []byte("{}")}}, false},
		{"neither an int nor a string", zoo{IS: intstr.IntOrString{Type: 7}}, zoo{IS: intstr.IntOrString{Type: 7}},
			false},
	} {
		a, b := reflect.ValueOf(&test.a).Elem(), reflect.ValueOf(&test.b).Elem()
		if got := exactlyEqual(a, b); got != test.want {
			t.Errorf("%s: equal %v", test.name, got)
		}
		if got := Exact(a.Type())(a, b); got != test.want {
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
		{"nil and empty bytes in a map", zoo{MB: map[string][]byte{"a": {}}}, zoo{MB: map[string][]byte{"a": nil}},
			true},
		{"an empty value and none", zoo{MB: map[string][]byte{"a": {}}}, zoo{}, false},
		{"nil and zero", zoo{P: new(int32)}, zoo{}, false},
		{"1G is 1e9", zoo{Q: q("1G")}, zoo{Q: q("1e9")}, true},
		{"1G is not 1Gi", zoo{Q: q("1G")}, zoo{Q: q("1Gi")}, false},
		{"nothing is 0", zoo{Q: q("0")}, zoo{}, true},
		{"1G is 1e9 in a map", zoo{MQ: corev1.ResourceList{"a": q("1G")}},
			zoo{MQ: corev1.ResourceList{"a": q("1e9")}}, true},
		{"0 in a map is not none", zoo{MQ: corev1.ResourceList{"a": q("0")}}, zoo{}, false},
		{"a number too large for an int64", zoo{Q: q("123456789012345678901234567890")},
			zoo{Q: q("123456789012345678901234567891")}, false},
		{"one instant in two zones", zoo{T: metav1.NewTime(now.UTC())},
			zoo{T: metav1.NewTime(now.In(time.FixedZone("x", 60)))}, true},
		{"one instant, of which one has a monotonic clock", zoo{T: metav1.NewTime(now)},
			zoo{T: metav1.NewTime(now.Round(0))}, true},
		{"two instants", zoo{T: metav1.NewTime(now)}, zoo{T: metav1.NewTime(now.Add(1))}, false},
		{"the unused half of an int-or-string", zoo{IS: intstr.IntOrString{IntVal: 1, StrVal: "x"}},
			zoo{IS: intstr.FromInt32(1)}, false},
		{"neither an int nor a string", zoo{IS: intstr.IntOrString{Type: 7}}, zoo{IS: intstr.IntOrString{Type: 7}},
			true},
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

func TestStrictEquality(t *testing.T) {
	q := func(s string) resource.Quantity { return resource.MustParse(s) }
	one := int32(1)
	other := int32(1)
	zero := int32(0)
	now := time.Unix(1, 0)
	texts, bytes, fun := map[string]string{"a": "b"}, map[string][]byte{"a": {1}}, func() {}
	for _, test := range []struct {
		name string
		a, b zoo
		want bool
	}{
		{"1G is not 1e9", zoo{Q: q("1G")}, zoo{Q: q("1e9")}, false},
		{"1G and 1000M are kept alike", zoo{Q: q("1G")}, zoo{Q: q("1000M")}, true},
		{"one instant in two zones", zoo{T: metav1.NewTime(now.UTC())},
			zoo{T: metav1.NewTime(now.In(time.FixedZone("x", 60)))}, true},
		{"nil and empty map", zoo{M: map[string]string{}}, zoo{}, true},
		{"nil and empty slice", zoo{Sl: []string{}}, zoo{}, true},
		{"nil and zero", zoo{P: &zero}, zoo{}, false},
		{"two pointers to one value", zoo{P: &one}, zoo{P: &other}, true},
		{"the unused half of an int-or-string", zoo{IS: intstr.IntOrString{IntVal: 1, StrVal: "x"}},
			zoo{IS: intstr.FromInt32(1)}, true},
		{"1 is not \"1\"", zoo{IS: intstr.FromInt32(1)}, zoo{IS: intstr.FromString("1")}, false},
		{"raw bytes", zoo{Raw: &runtime.RawExtension{Raw: []byte("{}")}},
			zoo{Raw: &runtime.RawExtension{Raw: []byte("{ }")}}, false},
		{"two instants", zoo{T: metav1.NewTime(now)}, zoo{T: metav1.NewTime(now.Add(1))}, false},
		{"two numbers", zoo{IS: intstr.FromInt32(1)}, zoo{IS: intstr.FromInt32(2)}, false},
		{"one text of an int-or-string", zoo{IS: intstr.FromString("a")}, zoo{IS: intstr.FromString("a")}, true},
		{"two texts of an int-or-string", zoo{IS: intstr.FromString("a")}, zoo{IS: intstr.FromString("b")}, false},
		{"neither an int nor a string", zoo{IS: intstr.IntOrString{Type: 7}}, zoo{IS: intstr.IntOrString{Type: 7}},
			true},
		{"two that are neither", zoo{IS: intstr.IntOrString{Type: 7}},
			zoo{IS: intstr.IntOrString{Type: 7, IntVal: 1}}, false},
		{"one map", zoo{M: texts, MB: bytes}, zoo{M: texts, MB: bytes}, true},
		{"one value of any type", zoo{Any: "a"}, zoo{Any: "a"}, true},
		{"two values of any type", zoo{Any: "a"}, zoo{Any: "b"}, false},
		{"any value and none", zoo{Any: "a"}, zoo{}, false},
		{"values of two types", zoo{Any: int64(1)}, zoo{Any: int32(1)}, false},
		{"0 is not -0", zoo{F: 0}, zoo{F: math.Copysign(0, -1)}, false},
		{"a key with an empty value", zoo{MB: map[string][]byte{"a": nil}}, zoo{}, false},
		{"a function is like no other", zoo{Fun: func() {}}, zoo{Fun: func() {}}, false},
		{"nor like itself", zoo{Fun: fun}, zoo{Fun: fun}, false},
	} {
		for _, pair := range [][2]*zoo{{&test.a, &test.b}, {&test.b, &test.a}} {
			a, b := reflect.ValueOf(pair[0]), reflect.ValueOf(pair[1])
			if got := Values(a.Elem(), b.Elem()); got != test.want {
				t.Errorf("%s: equal %v", test.name, got)
			}
			if got := strict.Of(a.Type().Elem())(a.UnsafePointer(), b.UnsafePointer()); got != test.want {
				t.Errorf("%s: fast, equal %v", test.name, got)
			}
		}
	}
}

// TestEqualityOutsideOfStructs compares values that are not fields of the struct zoo: maps and
// slices by themselves, and structs that consist of 64-bit words.
func TestEqualityOutsideOfStructs(t *testing.T) {
	texts, bytes := map[string]string{"a": "b"}, map[string][]byte{"a": {1}}
	sameTexts, sameBytes := texts, bytes
	type words struct { // consists of 64-bit words, without padding
		Number int64
		Text   string
	}
	list := []words{{1, "a"}}
	sameList, instant := list, time.Unix(1, 0).UTC()
	elsewhere := instant.In(time.FixedZone("x", 60))
	for _, test := range []struct {
		a, b          any
		strict, exact bool
	}{
		{&[]zoo{}, new([]zoo), true, false},
		{&[]zoo{{S: "a"}}, &[]zoo{{S: "a"}}, true, true},
		{&[]zoo{{S: "a"}}, &[]zoo{{S: "b"}}, false, false},
		{&[]zoo{{}}, &[]zoo{}, false, false},
		{&[]words{{1, "a"}, {2, "b"}}, &[]words{{1, "a"}, {2, strings.Clone("b")}}, true, true},
		{&[]words{{1, "a"}, {2, "b"}}, &[]words{{1, "a"}, {2, "c"}}, false, false},
		{&[]words{{1, "a"}, {2, "b"}}, &[]words{{0, "a"}, {2, "b"}}, false, false},
		{&words{1, "a"}, &words{1, strings.Clone("a")}, true, true},
		{&list, &sameList, true, true},
		{&instant, &elsewhere, true, true},
		{&words{1, "a"}, &words{1, "b"}, false, false},
		{&[]string{}, new([]string), true, false},
		{&texts, &sameTexts, true, true},
		{&texts, &map[string]string{"a": "b"}, true, true},
		{&texts, &map[string]string{"b": "b"}, false, false},
		{&bytes, &sameBytes, true, true},
		{&bytes, &map[string][]byte{"a": {1}}, true, true},
		{&bytes, &map[string][]byte{"b": {1}}, false, false},
		{&[]byte{}, new([]byte), true, false},
		{&[]struct{}{{}}, &[]struct{}{{}}, true, true},
		{&[]struct{}{{}}, &[]struct{}{}, false, false},
		{&struct{ L []struct{} }{make([]struct{}, 1)}, &struct{ L []struct{} }{make([]struct{}, 2)}, false, false},
		{&struct{ L []struct{} }{make([]struct{}, 2)}, &struct{ L []struct{} }{make([]struct{}, 2)}, true, true},
	} {
		a, b := reflect.ValueOf(test.a), reflect.ValueOf(test.b)
		for name, got := range map[string][2]bool{
			"Values":       {Values(a.Elem(), b.Elem()), test.strict},
			"Values, fast": {strict.Of(a.Type().Elem())(a.UnsafePointer(), b.UnsafePointer()), test.strict},
			"exactly":      {exactlyEqual(a.Elem(), b.Elem()), test.exact},
			"Exact":        {Exact(a.Type().Elem())(a.Elem(), b.Elem()), test.exact},
		} {
			if got[0] != got[1] {
				t.Errorf("%s of %T: %v and %v are equal: %v", name, test.a, test.a, test.b, got[0])
			}
		}
	}
}
