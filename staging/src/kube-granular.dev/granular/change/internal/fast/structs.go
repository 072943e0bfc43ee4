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
	how    how
	run    Func
}

// how says what can be told of an op without a call: most fields of most objects are
// absent on both sides, and what was copied leads to the same memory.
type how uint8

const (
	// call is for what has to be looked at.
	call how = iota
	// text is a string.
	text
	// word leads to the value: the same address is the same value.
	word
	// list is an address and a length.
	list
	// byte1, byte4 and byte8 are that many bytes.
	byte1
	byte4
	byte8
)

// plainOp compares bytes.
func plainOp(offset, size uintptr) op {
	o := op{offset: offset, run: memory(size)}
	switch size {
	case 1:
		o.how = byte1
	case 4:
		o.how = byte4
	case 8:
		o.how = byte8
	}
	return o
}

func (c *Compiler) how(t reflect.Type) how {
	if c.exact && Opaque(t) {
		return call
	}
	switch t.Kind() {
	case reflect.String:
		return text
	case reflect.Pointer, reflect.Map:
		return word
	case reflect.Slice:
		return list
	}
	return call
}

// equal says whether what the op compares is equal in the structs at two addresses.
func (o *op) equal(a, b unsafe.Pointer) bool {
	x, y := unsafe.Add(a, o.offset), unsafe.Add(b, o.offset)
	switch o.how {
	case text:
		return *(*string)(x) == *(*string)(y)
	case word:
		if *(*unsafe.Pointer)(x) == *(*unsafe.Pointer)(y) {
			return true
		}
	case list:
		if *(*[2]uintptr)(x) == *(*[2]uintptr)(y) {
			return true
		}
	case byte8:
		return *(*uint64)(x) == *(*uint64)(y)
	case byte4:
		return *(*uint32)(x) == *(*uint32)(y)
	case byte1:
		return *(*uint8)(x) == *(*uint8)(y)
	}
	return o.run(x, y)
}

// Fields gives the function that compares some fields of a struct, each given by
// its index path through structs that lie in one another.
func (c *Compiler) Fields(t reflect.Type, paths [][]int) Func {
	var ops []op
	from, to := uintptr(0), uintptr(0) // the run of plain memory under way
	flush := func() {
		if to > from {
			ops = append(ops, plainOp(from, to-from))
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
			ops = append(ops, op{at, c.how(t), c.Of(t)})
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
			if !ops[i].equal(a, b) {
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

// Field is a field of a struct, given by its index path. One that is Apart is looked at by
// somebody else unless it is absent on both sides.
type Field struct {
	Path  []int
	Apart bool
}

// Next says which of some fields, from the ith on, is the next that differs or is Apart;
// past the last if there is none.
type Next func(a, b unsafe.Pointer, i int) int

// Next gives the function for fields of a struct. One without a path has no value.
func (c *Compiler) Next(t reflect.Type, fields []Field) Next {
	ops := make([]op, len(fields))
	for i, f := range fields {
		if f.Path == nil {
			ops[i].run = func(_, _ unsafe.Pointer) bool { return true }
			continue
		}
		field := reflect.StructField{Type: t}
		for _, j := range f.Path {
			field = field.Type.Field(j)
			ops[i].offset += field.Offset
		}
		if ops[i].how = c.how(field.Type); f.Apart {
			ops[i].run = func(_, _ unsafe.Pointer) bool { return false }
		} else {
			ops[i].run = c.Of(field.Type)
		}
	}
	return func(a, b unsafe.Pointer, i int) int {
		for i < len(ops) && ops[i].equal(a, b) {
			i++
		}
		return i
	}
}
