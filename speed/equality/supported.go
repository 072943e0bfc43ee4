// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package equality

import (
	"reflect"

	upstream "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// sameFunction are types for which equality.Semantic has a function of their own, and for which
// equal.Semantic compiles a comparison with the same results as this function.
var sameFunction = map[reflect.Type]bool{
	reflect.TypeFor[resource.Quantity](): true,
	reflect.TypeFor[metav1.Time]():       true,
	reflect.TypeFor[metav1.MicroTime]():  true,
}

// fieldsV1 also has a function in equality.Semantic, which is equivalent to comparing its bytes.
// So supports treats it like any other struct. In builds in which FieldsV1 holds a string, the
// struct has an unexported field, so it is not supported.
var fieldsV1 = reflect.TypeFor[metav1.FieldsV1]()

// supported reports whether the compiled comparison of a type is equivalent to upstream's code
// for all values.
func supported(t reflect.Type) bool { return supports(t, map[reflect.Type]bool{}) }

// supports does what supported does. within has the types that contain t. A type inside itself is
// not supported.
func supports(t reflect.Type, within map[reflect.Type]bool) bool {
	if sameFunction[t] {
		return true
	}
	if _, own := upstream.Semantic.Equalities[t]; own && t != fieldsV1 || within[t] {
		return false
	}
	within[t] = true
	defer delete(within, t)
	switch t.Kind() {
	case reflect.Bool, reflect.String,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return true
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return supports(t.Elem(), within)
	case reflect.Map:
		return t.Key().Kind() == reflect.String && supports(t.Elem(), within)
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); !f.IsExported() || !supports(f.Type, within) {
				return false
			}
		}
		return true
	}
	return false
}
