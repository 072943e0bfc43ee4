// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package reads

import (
	"encoding/json"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// marker is in every field of a filled object that holders of readmetadata must not see. Its base64
// form is that of a field of bytes.
const (
	marker       = "xMARKERx"
	markerBase64 = "eE1BUktFUng"
)

// shows reports whether an answer contains the marker.
func shows(answer []byte) bool {
	text := string(answer)
	return strings.Contains(text, marker) || strings.Contains(text, markerBase64)
}

// fill writes the marker into every string, list and map below v, except in metadata that may be read.
// depth limits recursive types.
func fill(v reflect.Value, depth int) {
	if depth == 0 || !v.CanSet() {
		return
	}
	switch v.Interface().(type) {
	case metav1.TypeMeta, metav1.Time, metav1.MicroTime:
		return
	case metav1.ObjectMeta:
		if depth < top { // the metadata of the object itself is filled by its caller
			v.Set(reflect.ValueOf(metav1.ObjectMeta{Name: marker, Labels: map[string]string{marker: marker}, Annotations: map[string]string{marker: marker}}))
		}
		return
	case resource.Quantity:
		v.Set(reflect.ValueOf(resource.MustParse("1")))
		return
	case intstr.IntOrString:
		v.Set(reflect.ValueOf(intstr.FromString(marker)))
		return
	case runtime.RawExtension:
		v.Set(reflect.ValueOf(runtime.RawExtension{Raw: []byte(`{"apiVersion":"v1","kind":"Secret","data":{"` + marker + `":"` + marker + `"}}`)}))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(marker)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Pointer:
		p := reflect.New(v.Type().Elem())
		fill(p.Elem(), depth-1)
		v.Set(p)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			text := []byte(marker)
			if v.Type() == reflect.TypeFor[json.RawMessage]() || v.Type().Name() == "RawMessage" {
				text = []byte(`"` + marker + `"`)
			}
			v.SetBytes(text)
			return
		}
		one := reflect.MakeSlice(v.Type(), 1, 1)
		fill(one.Index(0), depth-1)
		v.Set(one)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, depth-1)
		fill(value, depth-1)
		one := reflect.MakeMap(v.Type())
		one.SetMapIndex(key, value)
		v.Set(one)
	case reflect.Struct:
		if raw := v.FieldByName("Raw"); raw.IsValid() && v.NumField() == 1 { // JSON as it is
			raw.SetBytes([]byte(`{"` + marker + `":"` + marker + `"}`))
			return
		}
		for i := range v.NumField() {
			fill(v.Field(i), depth-1)
		}
	}
}

// top is the depth of an object.
const top = 14

// objectMetadata is the metadata of a filled object: what may be read has no marker.
func objectMetadata(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: name, Namespace: namespace, UID: "6a7c6b5d-0000-4000-8000-000000000000", CreationTimestamp: metav1.Now(),
		Labels: map[string]string{"app": "shop"}, Finalizers: []string{"example.com/a", "example.com/b"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Namespace", Name: "owner", UID: "b"}},
		Annotations:     map[string]string{marker: marker, "kubectl.kubernetes.io/last-applied-configuration": marker},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: marker, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1",
			FieldsType: "FieldsV1", FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:data":{"f:` + marker + `":{}}}`)}}},
	}
}
