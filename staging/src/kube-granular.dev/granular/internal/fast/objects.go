// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fast

import (
	"reflect"
	"unsafe"
)

// Object finds the fields in which two structs of a type differ. One scan also compares the structs
// that are fields of these structs.
type Object struct {
	structure
	fields []part
	// owner has for each word the index in fields of the field that the word belongs to.
	// separateOwner has the same for each element of separate. The index len(fields) stands for all
	// remaining fields together.
	owner, separateOwner []int
}

// part is the location of a field in the struct: offset in bytes, and end, the index of the first
// word after the field. object finds differences inside a field that is a struct, and may be nil.
type part struct {
	offset uintptr
	end    int
	object *Object
}

// Field is a field of a struct. Path is the index path of the field, as for reflect. If Path is
// nil, the struct does not have the field. If Object is set, the field is a struct, and only the
// parts that Object compares are compared.
type Field struct {
	Path   []int
	Object *Object
}

// Position is the place where a scan found a difference inside two structs. A scan of these two
// structs can begin there, and need not compare again what comes before. Except for the zero
// Position, it holds the addresses of the structs.
type Position struct {
	in   *Object
	a, b unsafe.Pointer
	at   int
}

// Object returns an Object for the struct type t, which tells for each element of fields whether it
// differs. It also compares the fields at the index paths rest, but does not tell which of these
// differs. Other fields of t are not compared.
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
			offset, typ := locate(t, path)
			if i == len(fields) || fields[i].Object == nil {
				c.add(&o.structure, typ, offset, o.words != nil)
			} else {
				o.include(fields[i].Object, offset)
			}
			if i < len(fields) {
				o.fields[i] = part{offset: offset, end: int((offset + typ.Size() + wordSize - 1) / wordSize), object: fields[i].Object}
			}
			for w := offset / wordSize; o.words != nil && w*wordSize < offset+typ.Size(); w++ {
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

// sharedWords returns the indexes of the words of a struct that belong to more than one owner. An
// owner is a list of index paths of fields. A difference in a shared word does not show which of
// the owners differs.
func sharedWords(t reflect.Type, owners [][][]int) map[uintptr]bool {
	owner, shared := map[uintptr]int{}, map[uintptr]bool{}
	for i, paths := range owners {
		for _, path := range paths {
			offset, typ := locate(t, path)
			for w := offset / wordSize; w*wordSize < offset+typ.Size(); w++ {
				if other, taken := owner[w]; taken && other != i {
					shared[w] = true
				}
				owner[w] = i
			}
		}
	}
	return shared
}

// include adds to o the words and ops of object, that of a field at the offset base. If object has no
// words, because the field does not fill whole words, include adds only its separate ops.
func (o *Object) include(object *Object, base uintptr) {
	first, ops := base/wordSize, uint32(len(o.ops)-1)
	for i, w := range object.words {
		if w.op != 0 {
			w.op += ops
		}
		o.words[first+uintptr(i)] = w
	}
	for _, inner := range object.ops[1:] {
		inner.offset, inner.end = inner.offset+base, inner.end+int(first)
		o.ops = append(o.ops, inner)
	}
	for _, inner := range object.separate {
		inner.offset += base
		o.separate = append(o.separate, inner)
	}
}

// Same reports whether the structs at addresses a and b are equal. If they differ, it also returns
// a Position that saves a following call of Next the same scan.
func (o *Object) Same(a, b unsafe.Pointer) (Position, bool) {
	index := o.differs(a, b, 0)
	if index >= len(o.words) && o.nextSeparate(a, b, 0) == len(o.separate) {
		return Position{}, true
	}
	return Position{in: o, a: a, b: b, at: index}, false
}

// Next returns the index of the next field that might differ between the structs at addresses a and
// b. index is 0, or the result next of the previous call. If field is the number of fields, one of the
// remaining fields differs. If field is higher, nothing more differs. A field can be returned
// twice. If found is a Position in these two structs and index is 0, the search begins there. If the
// returned field is a struct, Next sets found to the difference inside it.
func (o *Object) Next(a, b unsafe.Pointer, index int, found *Position) (field, next int) {
	if index == 0 && found.in == o && found.a == a && found.b == b {
		index = found.at
	} else if index < len(o.words) {
		index = o.differs(a, b, index)
	}
	if index < len(o.words) {
		field = o.owner[index]
		if field == len(o.fields) {
			return field, index + 1
		}
		p := &o.fields[field]
		if p.object != nil {
			*found = Position{in: p.object, a: unsafe.Add(a, p.offset), b: unsafe.Add(b, p.offset), at: index - int(p.offset/wordSize)}
		}
		return field, p.end
	}
	if i := o.nextSeparate(a, b, index-len(o.words)); i < len(o.separate) {
		return o.separateOwner[i], len(o.words) + i + 1
	}
	return len(o.fields) + 1, index
}

// nextSeparate runs the ops in separate, beginning with index i, and returns the index of the first
// op that finds a difference. If there is none, it returns the number of these ops.
func (o *Object) nextSeparate(a, b unsafe.Pointer, i int) int {
	for i < len(o.separate) && o.separate[i].equal(a, b) {
		i++
	}
	return i
}
