// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package equality

import (
	"reflect"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/kubernetes/pkg/apis/apps"
	"k8s.io/kubernetes/pkg/apis/core"
)

// TestEveryField sets each field of some types alone, and checks that the compiled comparison
// notices a difference exactly if upstream's code does. So no field is overlooked.
func TestEveryField(t *testing.T) {
	c := &comparisons{}
	for _, typ := range []reflect.Type{reflect.TypeFor[core.PodSpec](), reflect.TypeFor[corev1.PodSpec](), reflect.TypeFor[apps.DeploymentSpec](), reflect.TypeFor[appsv1.Deployment](), reflect.TypeFor[core.Node](), reflect.TypeFor[core.Service]()} {
		checked := 0
		every(typ, func(path string, set func(reflect.Value)) {
			a, b := reflect.New(typ), reflect.New(typ)
			set(b.Elem())
			want := oracle.DeepEqual(a.Interface(), b.Interface())
			if got, known := c.compare(a.Interface(), b.Interface()); !known || got != want {
				t.Errorf("%s%s: %v, known %v, upstream says %v", typ, path, got, known, want)
			}
			if !want {
				checked++
			}
		})
		if checked < 30 {
			t.Errorf("%s: %d fields that make a difference", typ, checked)
		}
	}
}

// every calls found for each field inside a type, with the path of the field, and with a
// function that sets that field in a value to something other than zero.
func every(typ reflect.Type, found func(path string, set func(reflect.Value))) {
	var below func(t reflect.Type, path string, to func(reflect.Value) reflect.Value)
	below = func(t reflect.Type, path string, to func(reflect.Value) reflect.Value) {
		found(path, func(root reflect.Value) { nonZero(to(root)) })
		switch t.Kind() {
		case reflect.Struct:
			if t == quantityType || t == timeType {
				return
			}
			for i := range t.NumField() {
				below(t.Field(i).Type, path+"."+t.Field(i).Name, func(r reflect.Value) reflect.Value { return to(r).Field(i) })
			}
		case reflect.Pointer:
			below(t.Elem(), path, func(r reflect.Value) reflect.Value {
				p := to(r)
				p.Set(reflect.New(t.Elem()))
				return p.Elem()
			})
		case reflect.Slice:
			below(t.Elem(), path+"[0]", func(r reflect.Value) reflect.Value {
				p := to(r)
				p.Set(reflect.MakeSlice(t, 1, 1))
				return p.Index(0)
			})
		}
	}
	below(typ, "", func(r reflect.Value) reflect.Value { return r })
}

// nonZero sets a value to something other than zero, if it has one of the kinds below.
func nonZero(v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(1)
	case reflect.String:
		v.SetString("x")
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.Zero(v.Type().Key()), reflect.Zero(v.Type().Elem()))
	case reflect.Struct:
		switch v.Type() {
		case quantityType:
			v.Set(reflect.ValueOf(resource.MustParse("1")))
		case timeType:
			v.Set(reflect.ValueOf(time.Unix(1, 0)))
		}
	}
}
