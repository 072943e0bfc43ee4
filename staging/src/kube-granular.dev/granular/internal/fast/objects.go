// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fast

import (
	"reflect"
	"unsafe"
)

// Object finds the fields in which two structs differ. It also compares the structs inside these
// structs in the same scan.
type Object struct {
	structure
	fields []part
	// owner is the index of the field that each word belongs to. separateOwner is that of each
	// separate op.
	owner, separateOwner []int
}

// part is the location of a field in the struct. end is the index of the first word after the
// field. object finds differences inside the field, or is nil.
type part struct {
	offset uintptr
	end    int
	object *Object
}

// Field is a field of a struct, given by its index path. A Field without a path does not exist in
// the struct. If the field is a struct, the Object in it finds its differences, and nothing else
// of the field is compared.
type Field struct {
	Path   []int
	Object *Object
}

// Position is where Next stopped in a field that is a struct, so that a scan of that field begins
// there. It holds addresses, except for the zero Position.
type Position struct {
	in   *Object
	a, b unsafe.Pointer
	at   int
}

// Object returns an Object for type t. It reports each of fields by itself, and the remaining
// fields, whose index paths are rest, as one. Other fields of t are not compared.
func (c *Compiler) Object(t reflect.Type, fields []Field, rest [][]int) *Object {
	o := &Object{structure: structure{ops: []op{{}}}, fields: make([]part, len(fields))}
	size := t.Size() / wordSize
	if wholeWords(t) {
		o.words, o.owner = make([]word, size), make([]int, size)
	}
	owners := make([][][]int, len(fields)+1)
	for i, f := range fields {
		if f.Path != nil {
			owners[i] = [][]int{f.Path}
		}
	}
	owners[len(fields)] = rest
	o.shared = sharedWords(t, owners)
	for i, paths := range owners {
		for _, path := range paths {
			offset, of := locate(t, path)
			if i == len(fields) || fields[i].Object == nil {
				c.add(&o.structure, of, offset, o.words != nil)
			} else {
				o.include(fields[i].Object, offset)
			}
			if i < len(fields) {
				o.fields[i] = part{offset: offset, end: int((offset + of.Size() + wordSize - 1) / wordSize), object: fields[i].Object}
			}
			for w := offset / wordSize; o.words != nil && w*wordSize < offset+of.Size(); w++ {
				if o.words[w].mask != 0 {
					o.owner[w] = i
				}
			}
		}
		for len(o.separateOwner) < len(o.separate) {
			o.separateOwner = append(o.separateOwner, i)
		}
	}
	return o
}

// sharedWords returns the words of a struct that belong to more than one owner. Such a word does
// not show which of its owners differs.
func sharedWords(t reflect.Type, owners [][][]int) map[uintptr]bool {
	owner, shared := map[uintptr]int{}, map[uintptr]bool{}
	for i, paths := range owners {
		for _, path := range paths {
			offset, of := locate(t, path)
			for w := offset / wordSize; w*wordSize < offset+of.Size(); w++ {
				if other, taken := owner[w]; taken && other != i {
					shared[w] = true
				}
				owner[w] = i
			}
		}
	}
	return shared
}

// include adds the words and ops of the Object of a field. An Object without words, whose field
// does not fill whole words, adds only its separate ops.
func (o *Object) include(in *Object, at uintptr) {
	first, ops := at/wordSize, uint32(len(o.ops)-1)
	for i, w := range in.words {
		if w.op != 0 {
			w.op += ops
		}
		o.words[first+uintptr(i)] = w
	}
	for _, inner := range in.ops[1:] {
		inner.offset, inner.end = inner.offset+at, inner.end+int(first)
		o.ops = append(o.ops, inner)
	}
	for _, inner := range in.separate {
		inner.offset += at
		o.separate = append(o.separate, inner)
	}
}

// Same reports whether two structs are equal. If they are not, it returns the Position at which
// Next may begin.
func (o *Object) Same(a, b unsafe.Pointer) (Position, bool) {
	at := o.differs(a, b, 0)
	if at >= len(o.words) && o.nextSeparate(a, b, 0) == len(o.separate) {
		return Position{}, true
	}
	return Position{in: o, a: a, b: b, at: at}, false
}

// Next returns the next field that may differ, beginning at a position, and the position behind
// that field. The first position is 0. If field is the number of fields, a remaining field
// differs. If field is higher, nothing more differs. A field may be returned twice.
func (o *Object) Next(a, b unsafe.Pointer, at int, found *Position) (field, next int) {
	if at == 0 && found.in == o && found.a == a && found.b == b {
		at = found.at
	} else if at < len(o.words) {
		at = o.differs(a, b, at)
	}
	if at < len(o.words) {
		field = o.owner[at]
		if field == len(o.fields) {
			return field, at + 1
		}
		p := &o.fields[field]
		if p.object != nil {
			*found = Position{in: p.object, a: unsafe.Add(a, p.offset), b: unsafe.Add(b, p.offset), at: at - int(p.offset/wordSize)}
		}
		return field, p.end
	}
	if i := o.nextSeparate(a, b, at-len(o.words)); i < len(o.separate) {
		return o.separateOwner[i], len(o.words) + i + 1
	}
	return len(o.fields) + 1, at
}

// nextSeparate returns the index of the first separate op, from index i on, that finds a
// difference, or the number of separate ops.
func (o *Object) nextSeparate(a, b unsafe.Pointer, i int) int {
	for i < len(o.separate) && o.separate[i].equal(a, b) {
		i++
	}
	return i
}
