// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldmanagement

import (
	"math/rand/v2"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

var words = []string{"", "a", "b", "c", "example.com/x", "TCP", "<ä"}

// fillTyped fills a Go value with random content. The deeper a field is, the more likely it
// stays empty.
func fillTyped(r *rand.Rand, v reflect.Value, depth int) {
	if !v.CanSet() || depth > 0 && r.IntN(3) > 0 {
		return
	}
	switch v.Type() {
	case reflect.TypeFor[resource.Quantity]():
		v.Set(reflect.ValueOf(resource.MustParse([]string{"1G", "1e9", "1000M", "0", "500m", "0.5"}[r.IntN(6)])))
		return
	case reflect.TypeFor[metav1.Time]():
		v.Set(reflect.ValueOf(metav1.NewTime(time.Unix(int64(r.IntN(3))*1000, 0).In([]*time.Location{time.UTC, time.FixedZone("x", 60)}[r.IntN(2)]))))
		return
	case reflect.TypeFor[metav1.MicroTime]():
		v.Set(reflect.ValueOf(metav1.NewMicroTime(time.Unix(1, int64(r.IntN(3))*1000))))
		return
	case reflect.TypeFor[intstr.IntOrString]():
		v.Set(reflect.ValueOf([]intstr.IntOrString{intstr.FromInt32(1), intstr.FromString("1"), {Type: intstr.String, IntVal: 3, StrVal: "50%"}}[r.IntN(3)]))
		return
	case reflect.TypeFor[runtime.RawExtension]():
		v.Set(reflect.ValueOf(runtime.RawExtension{Raw: []byte([]string{`{}`, `{"a":[1]}`, `{"a":{"b":1.5}}`, `3`}[r.IntN(4)])}))
		return
	case reflect.TypeFor[metav1.FieldsV1](), reflect.TypeFor[[]metav1.ManagedFieldsEntry]():
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(r.IntN(3)))
	case reflect.Uint8, reflect.Uint32:
		v.SetUint(uint64(r.IntN(3)))
	case reflect.Float32, reflect.Float64:
		v.SetFloat([]float64{0, 1, 1.5}[r.IntN(3)])
	case reflect.String:
		v.SetString(words[r.IntN(len(words))])
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillTyped(r, v.Elem(), depth+1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), r.IntN(4), 4))
		for i := range v.Len() {
			fillTyped(r, v.Index(i), depth-1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range r.IntN(4) {
			key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			key.SetString(words[r.IntN(len(words))])
			fillTyped(r, elem, depth)
			v.SetMapIndex(key, elem)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fillTyped(r, v.Field(i), depth+1)
		}
	}
}

// places returns all values in v that can be set, beginning with v itself, without TypeMeta and
// managedFields.
func places(v reflect.Value, out []reflect.Value) []reflect.Value {
	if v.CanSet() && v.Type() != reflect.TypeFor[metav1.TypeMeta]() {
		out = append(out, v)
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			out = places(v.Elem(), out)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Type != reflect.TypeFor[metav1.TypeMeta]() && f.Type != reflect.TypeFor[[]metav1.ManagedFieldsEntry]() {
				out = places(v.Field(i), out)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			out = places(v.Index(i), out)
		}
	}
	return out
}

// mutateTyped changes some random fields of an object: to another value, to nil or an empty
// value, or, in lists, by changing order and length.
func mutateTyped(r *rand.Rand, object runtime.Object) {
	for range r.IntN(4) {
		all := places(reflect.ValueOf(object).Elem(), nil)[1:]
		v := all[r.IntN(len(all))]
		switch n := r.IntN(6); {
		case v.Kind() == reflect.Map && v.Len() > 0 && n > 0:
			v.Set(editedMap(r, v))
		case n == 0:
			v.SetZero()
		case n == 1 && v.Kind() == reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		case n == 1 && v.Kind() == reflect.Map:
			v.Set(reflect.MakeMap(v.Type()))
		case n == 2 && v.Kind() == reflect.Slice && v.Len() > 0:
			v.Set(reflect.Append(v, v.Index(r.IntN(v.Len()))))
		case n == 3 && v.Kind() == reflect.Slice && v.Len() > 1:
			reflect.Swapper(v.Interface())(0, v.Len()-1)
		case n == 4 && v.Kind() == reflect.Slice && v.Len() > 0:
			v.Set(v.Slice(1, v.Len()))
		default:
			fillTyped(r, v, 0)
		}
	}
}

// editedMap returns a copy of a map with one entry added, changed or removed.
func editedMap(r *rand.Rand, v reflect.Value) reflect.Value {
	out := reflect.MakeMap(v.Type())
	for _, key := range v.MapKeys() {
		out.SetMapIndex(key, v.MapIndex(key))
	}
	key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
	key.SetString(words[r.IntN(len(words))])
	fillTyped(r, elem, 0)
	out.SetMapIndex(key, elem)
	if r.IntN(3) == 0 {
		out.SetMapIndex(key, reflect.Value{})
	}
	return out
}

// oddTyped sometimes adds to a pod what decoding hardly ever yields: containers and finalizers
// that are duplicates.
func oddTyped(r *rand.Rand, object runtime.Object) {
	pod, ok := object.(*corev1.Pod)
	if !ok || r.IntN(20) > 0 {
		return
	}
	pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "dup"}, corev1.Container{Name: "dup"})
	pod.Finalizers = append(pod.Finalizers, "x", "x")
}
