// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fast

import (
	"reflect"
	"unsafe"
)

// op compares one field, or a run of plain ones, at an offset.
type op struct {
	offset uintptr
	run    Func
}

// Fields gives the function that compares some fields of a struct, each given by
// its index path through structs that lie in one another.
func (c *Compiler) Fields(t reflect.Type, paths [][]int) Func {
	var ops []op
	from, to := uintptr(0), uintptr(0) // the run of plain memory under way
	flush := func() {
		if to > from {
			ops = append(ops, op{from, memory(to - from)})
		}
		from, to = 0, 0
	}
	var add func(t reflect.Type, at uintptr)
	add = func(t reflect.Type, at uintptr) {
		special := t == quantityType || t == timeType || t == intstrType || c.exact && Opaque(t)
		switch {
		case t.Kind() == reflect.Struct && !special:
			for i := range t.NumField() {
				add(t.Field(i).Type, at+t.Field(i).Offset)
			}
		case plain(t):
			if at != to || to == 0 { // padding in between may hold anything
				flush()
				from = at
			}
			to = at + t.Size()
		default:
			flush()
			ops = append(ops, op{at, c.Of(t)})
		}
	}
	for _, path := range paths {
		at, field := uintptr(0), reflect.StructField{Type: t}
		for _, i := range path {
			field = field.Type.Field(i)
			at += field.Offset
		}
		add(field.Type, at)
	}
	flush()
	if len(ops) == 1 && ops[0].offset == 0 {
		return ops[0].run
	}
	return func(a, b unsafe.Pointer) bool {
		for i := range ops {
			o := &ops[i]
			if !o.run(unsafe.Add(a, o.offset), unsafe.Add(b, o.offset)) {
				return false
			}
		}
		return true
	}
}

func (c *Compiler) structure(t reflect.Type) Func {
	paths := make([][]int, t.NumField())
	for i := range paths {
		paths[i] = []int{i}
	}
	return c.Fields(t, paths)
}
