// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fast

import (
	"reflect"
	"unsafe"
)

// Object finds the fields in which two structs of a type differ. It scans the words of both structs
// once, and this scan includes the structs nested in them.
type Object struct {
	structure
	fields []part
	// owner has, for each word, the index of the field that the word belongs to. separateOwner
	// has the same for each op in structure.separate.
	owner, separateOwner []int
}

// part is the location of a field in the struct. end is the index of the first word after the
// field. object finds differences inside the field, or is nil.
type part struct {
	offset uintptr
	end    int
	object *Object
}

// Field is a field of a struct. Path is its index path through nested structs. A Field without a
// Path never differs. If Object is set, the field is a struct, and only the parts that Object
// compares are compared.
type Field struct {
	Path   []int
	Object *Object
}

// Position is the first word in which two structs at the addresses a and b differ. Object.Same and
// Object.Next set it, so that the next scan of the same structs can begin at that word. The zero
// Position belongs to no structs.
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

// sharedWords returns the words of a struct that belong to more than one owner, such as two bool
// fields side by side. If such a word differs, it is unknown which owner does.
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

// include adds the words and ops of in, the Object of a field at offset at, to o. The Object of a
// field that does not fill whole words has no words.
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

// Same reports whether two structs are equal. If they differ, Same also returns the Position of
// their first difference, at which the first call of Next can begin.
func (o *Object) Same(a, b unsafe.Pointer) (Position, bool) {
	at := o.differs(a, b, 0)
	if at >= len(o.words) && o.nextSeparate(a, b, 0) == len(o.separate) {
		return Position{}, true
	}
	return Position{in: o, a: a, b: b, at: at}, false
}

// Next returns the index of the next field that may differ, and the position after that field. The
// argument at is 0 in the first call, and the position that Next returned last in each later call.
// An index equal to the number of fields means one of the remaining fields. A higher index means
// that no further field differs. Next may return the same field twice.
//
// If found is the Position of these two structs, the first call begins there. If the returned field
// has an Object, Next sets found to the Position of the difference inside that field.
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
