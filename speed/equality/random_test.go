// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package equality

import (
	"math/rand/v2"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
)

var (
	quantityType = reflect.TypeFor[resource.Quantity]()
	timeType     = reflect.TypeFor[time.Time]()
)

// randomQuantity returns one of a few quantities, so that two of them are often equal but
// represented in different ways.
func randomQuantity(r *rand.Rand) resource.Quantity {
	text := []string{"0", "1G", "1e9", "1000M", "1Gi", "500m", "0.5", "123456789012345678901234567890",
		"1234567890123456789012345678.90e2"}
	q := resource.MustParse(text[r.IntN(len(text))])
	if r.IntN(2) == 0 {
		_ = q.String() // the quantity caches its string
	}
	return q
}

func randomTime(r *rand.Rand) time.Time {
	at := []time.Time{{}, time.Unix(1, 0), time.Unix(1, 1), begun, begun.Round(0)}[r.IntN(5)]
	return at.In([]*time.Location{time.UTC, time.Local, time.FixedZone("x", 3600)}[r.IntN(3)])
}

// begun is a time with a reading of the monotonic clock.
var begun = time.Now()

// fill sets a value of any supported type to a random one. Below the given depth, pointers,
// slices and maps stay nil.
func fill(r *rand.Rand, v reflect.Value, depth int) {
	switch v.Type() {
	case quantityType:
		v.Set(reflect.ValueOf(randomQuantity(r)))
		return
	case timeType:
		v.Set(reflect.ValueOf(randomTime(r)))
		return
	}
	some := func() int { return r.IntN(2 + min(depth, 1)) }
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(r.IntN(3)))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(r.IntN(3)))
	case reflect.String:
		v.SetString([]string{"", "a", "b"}[r.IntN(3)])
	case reflect.Pointer:
		if v.SetZero(); depth > 0 && r.IntN(3) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(r, v.Elem(), depth-1)
		}
	case reflect.Slice:
		if v.SetZero(); depth > 0 && r.IntN(3) > 0 {
			v.Set(reflect.MakeSlice(v.Type(), some(), 3))
			for i := range v.Len() {
				fill(r, v.Index(i), depth-1)
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(r, v.Index(i), depth)
		}
	case reflect.Map:
		if v.SetZero(); depth > 0 && r.IntN(3) > 0 {
			v.Set(reflect.MakeMap(v.Type()))
			for range some() {
				key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
				fill(r, key, 0)
				fill(r, elem, depth-1)
				v.SetMapIndex(key, elem)
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(r, v.Field(i), depth)
			}
		}
	}
}

// alter sets a random field or element inside a value to a new random value, which may be equal
// to the old one or represent it in another way.
func alter(r *rand.Rand, v reflect.Value, depth int) {
	if v.Type() == quantityType || v.Type() == timeType || r.IntN(8) == 0 && v.Kind() != reflect.Struct {
		fill(r, v, min(depth, 2))
		return
	}
	switch {
	case v.Kind() == reflect.Struct && v.NumField() > 0:
		if f := v.Field(r.IntN(v.NumField())); f.CanSet() {
			alter(r, f, depth)
		}
	case v.Kind() == reflect.Pointer && !v.IsNil():
		alter(r, v.Elem(), depth-1)
	case (v.Kind() == reflect.Slice || v.Kind() == reflect.Array) && v.Len() > 0:
		alter(r, v.Index(r.IntN(v.Len())), depth-1)
	case v.Kind() == reflect.Map && v.Len() > 0:
		key := v.MapKeys()[0]
		elem := reflect.New(v.Type().Elem()).Elem()
		elem.Set(v.MapIndex(key))
		alter(r, elem, depth-1)
		v.SetMapIndex(key, elem)
	case v.Kind() == reflect.Slice && r.IntN(2) == 0:
		v.Set(reflect.MakeSlice(v.Type(), 0, 0)) // empty, and equal to nil
	case v.Kind() == reflect.Map && r.IntN(2) == 0:
		v.Set(reflect.MakeMap(v.Type()))
	default:
		fill(r, v, min(depth, 2))
	}
}
