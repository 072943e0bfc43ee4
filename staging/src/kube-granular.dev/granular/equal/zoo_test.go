// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package equal

import (
	"math"
	"math/rand/v2"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// zoo has a field of every kind that a Go API type may have, and of some that it may not.
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

// fill sets v to a random value, or leaves it unchanged. Pointers, slices and maps are nested at
// most depth deep.
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

// hasNaN reports whether a value that fill made contains a NaN, which is unequal to itself.
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
