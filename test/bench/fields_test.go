// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/equal"
	"kube-granular.dev/granular/schema"
	"kube-granular.dev/pkg/modelstest"
)

// full sets every field of a value to a non-zero value. Each string is different, so that no list
// has two elements with the same key.
func full(v reflect.Value, texts *int) {
	switch v.Interface().(type) {
	case resource.Quantity:
		v.Set(reflect.ValueOf(resource.MustParse("1G")))
		return
	case time.Time:
		v.Set(reflect.ValueOf(time.Unix(1, 0).UTC()))
		return
	case intstr.IntOrString:
		v.Set(reflect.ValueOf(intstr.FromInt32(1)))
		return
	}
	switch v.Kind() {
	case reflect.String:
		*texts++
		v.SetString(fmt.Sprint("t", *texts))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint8:
		v.SetUint(1)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		full(v.Elem(), texts)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			full(v.Index(i), texts)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range 2 {
			key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			full(key, texts)
			full(elem, texts)
			v.SetMapIndex(key, elem)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			full(v.Field(i), texts)
		}
	}
}

// edits makes many single changes of a value, one after the other: of each part of its content, and
// of whether the part is set. It calls do after each change, and then undoes the change.
func edits(v reflect.Value, path string, do func(path string)) {
	try := func(what string, values ...any) {
		former := reflect.New(v.Type()).Elem()
		former.Set(v)
		for i, value := range values {
			v.Set(reflect.ValueOf(value).Convert(v.Type()))
			do(fmt.Sprint(path, " ", what, i))
		}
		v.Set(former)
	}
	switch v.Interface().(type) {
	case resource.Quantity:
		spelled := *resource.NewQuantity(1e9, resource.DecimalSI)
		_ = spelled.String()
		try("quantity", resource.MustParse("1000M"), spelled, resource.MustParse("1e9"), resource.MustParse("2G"), resource.Quantity{})
		return
	case time.Time:
		try("time", time.Unix(1, 0).In(time.FixedZone("x", 60)), time.Unix(2, 0), time.Time{})
		return
	case intstr.IntOrString:
		try("intstr", intstr.FromInt32(2), intstr.FromString("1"), intstr.IntOrString{IntVal: 1, StrVal: "unused"})
		return
	}
	switch v.Kind() {
	case reflect.String:
		try("text", "other", "")
	case reflect.Bool:
		try("bool", false)
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint8:
		try("number", 2, 0)
	case reflect.Pointer:
		try("pointer", reflect.Zero(v.Type()).Interface(), reflect.New(v.Type().Elem()).Interface())
		edits(v.Elem(), path, do)
	case reflect.Slice:
		try("list", reflect.Zero(v.Type()).Interface(), reflect.MakeSlice(v.Type(), 0, 0).Interface(), v.Slice(0, 1).Interface())
		for i := range v.Len() {
			edits(v.Index(i), fmt.Sprint(path, "[", i, "]"), do)
		}
	case reflect.Map:
		try("map", reflect.Zero(v.Type()).Interface(), reflect.MakeMap(v.Type()).Interface())
		for _, key := range v.MapKeys() {
			former, target := v.MapIndex(key), reflect.New(v.Type().Elem()).Elem()
			target.Set(former)
			edits(target, path+"{}", func(path string) { v.SetMapIndex(key, target); do(path) })
			v.SetMapIndex(key, reflect.Value{})
			do(path + "{} gone")
			v.SetMapIndex(reflect.ValueOf("other").Convert(key.Type()), former)
			do(path + "{} by another name")
			v.SetMapIndex(reflect.ValueOf("other").Convert(key.Type()), reflect.Value{})
			v.SetMapIndex(key, former)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			edits(v.Field(i), path+"."+v.Type().Field(i).Name, do)
		}
	}
}

// written returns a shallow copy of an object without the fields that the walk leaves out: the
// server sets them.
func written(o runtime.Object) reflect.Value {
	out := reflect.New(reflect.TypeOf(o).Elem()).Elem()
	out.Set(reflect.ValueOf(o).Elem())
	out.FieldByName("TypeMeta").SetZero()
	for _, name := range []string{"SelfLink", "UID", "ResourceVersion", "Generation", "CreationTimestamp", "DeletionTimestamp",
		"DeletionGracePeriodSeconds", "ManagedFields"} {
		out.FieldByName("ObjectMeta").FieldByName(name).SetZero()
	}
	return out
}

// TestWalkFindsEachField checks that the change walk finds a change exactly if a comparison by
// reflection does. It changes each field of an object, one at a time.
func TestWalkFindsEachField(t *testing.T) {
	all := modelstest.BuiltIn()
	for _, k := range kinds() {
		if k.group == "example.com" || k.name == "ConfigMap1MB" || k.name == "Pod200Labels" { // no Go type, or that of another case
			continue
		}
		tree, err := schema.Compile(all, k.model)
		if err != nil {
			t.Fatal(err)
		}
		walker := change.NewWalker(tree)
		agree := func(old, after runtime.Object, what string) (same bool) {
			for _, pair := range [][2]runtime.Object{{old, after}, {after, old}} {
				set, err := walker.Compare(change.All, pair[0], pair[1])
				if err != nil {
					t.Fatal(err)
				}
				same = equal.Values(written(pair[0]), written(pair[1]))
				if same != (len(set) == 0) {
					t.Errorf("%s:%s: reflection says %v, the walk %v", k.name, what, !same, set)
				}
			}
			return same
		}
		t.Run(k.name, func(t *testing.T) {
			changed := k.make()
			k.deep(changed)
			if !agree(k.make(), k.make(), " nothing") || agree(k.make(), changed, " something deep") {
				t.Error("both are wrong")
			}
			old, after, texts, again, equal, different := k.make(), k.make(), 0, 0, 0, 0
			full(reflect.ValueOf(old).Elem(), &texts)
			full(reflect.ValueOf(after).Elem(), &again)
			if !agree(old, after, " nothing in a full one") {
				t.Error("both find a difference where there is none")
			}
			edits(reflect.ValueOf(after).Elem(), "", func(path string) {
				if agree(old, after, path) {
					equal++
				} else {
					different++
				}
			})
			t.Logf("%d changes, %d that are none", different, equal)
			if !agree(old, after, " all taken back") || different < 50 || equal == 0 {
				t.Errorf("%d changes, %d that are none: that is no test", different, equal)
			}
		})
	}
}
