// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fast

import (
	"reflect"
	"unsafe"
)

// structure describes how structs of a type, or some of their fields, are compared: word by word.
// If two words differ, the fields that the words belong to are compared. This is fast because most
// fields of two objects are absent in both or refer to the same memory, so most words are equal.
type structure struct {
	words []word
	// ops compare the fields whose words differ. The first op is unused, because word.op uses 0
	// for no op.
	ops []op
	// separate are ops that always run. They are for fields whose value does not always equal
	// itself, and for fields that do not fill whole words.
	separate []op
	// shared contains the indexes of the words that the function sharedWords returns. These are not
	// compared as words. shared is used only while compiling.
	shared map[uintptr]bool
}

// word describes one word of a struct.
type word struct {
	// mask has a 1 for each bit that is compared, and a 0 for bits of padding.
	mask uint64
	// op is the index in structure.ops of the op that decides whether the field is equal although
	// the word differs. If op is 0, the field differs.
	op uint32
}

// wordSize is the number of bytes in a word. block is the number of words compared at once.
const (
	wordSize = 8
	block    = 4
)

// equal reports whether two structs are equal.
func (s *structure) equal(a, b unsafe.Pointer) bool {
	if s.differs(a, b, 0) < len(s.words) {
		return false
	}
	for i := range s.separate {
		if !s.separate[i].equal(a, b) {
			return false
		}
	}
	return true
}

// differs compares the structs at addresses a and b, beginning with word i, and returns the index
// of the first word in which a field differs. If there is none, it returns the number of words.
func (s *structure) differs(a, b unsafe.Pointer, i int) int {
	words := s.words
	for i < len(words) {
		end := len(words)
		if i+block <= end {
			x, y := (*[block]uint64)(unsafe.Add(a, i*wordSize)), (*[block]uint64)(unsafe.Add(b, i*wordSize))
			if (x[0]^y[0])|(x[1]^y[1])|(x[2]^y[2])|(x[3]^y[3]) == 0 {
				i += block
				continue
			}
			end = i + block
		}
		for i < end {
			w := &words[i]
			if (*(*uint64)(unsafe.Add(a, i*wordSize))^*(*uint64)(unsafe.Add(b, i*wordSize)))&w.mask == 0 {
				i++
				continue
			}
			o := &s.ops[w.op]
			if w.op == 0 || !o.equal(a, b) {
				return i
			}
			i = o.end
		}
	}
	return i
}

// op compares one field. It runs if the words of the field differ, or if the field can't be
// compared by words.
type op struct {
	offset uintptr
	// end is the index of the word behind the field.
	end  int
	kind opKind
	// elem compares the values that a pointer or slice refers to. size is the size of one element
	// of a slice, in bytes.
	elem *entry
	size uintptr
	run  Func
}

// opKind is the kind of a field. A common kind needs no call of a compiled function.
type opKind uint8

const (
	// call is any other kind: op.run compares the field.
	call opKind = iota
	// text is the kind of a string, texts of a slice of strings, and textMap of a map from string
	// to string.
	text
	texts
	textMap
	// pointer is the kind of a pointer, and list of a slice, if op.elem compares the values that
	// the pointer or slice refers to.
	pointer
	list
)

// equal reports whether the field of the op is equal in the structs at addresses a and b.
func (o *op) equal(a, b unsafe.Pointer) bool {
	a, b = unsafe.Add(a, o.offset), unsafe.Add(b, o.offset)
	switch o.kind {
	case text:
		return *(*string)(a) == *(*string)(b)
	case texts:
		x, y := *(*[]string)(a), *(*[]string)(b)
		if len(x) != len(y) {
			return false
		}
		for i := range x {
			if x[i] != y[i] {
				return false
			}
		}
		return true
	case textMap:
		return equalTexts(*(*map[string]string)(a), *(*map[string]string)(b))
	case pointer:
		x, y := *(*unsafe.Pointer)(a), *(*unsafe.Pointer)(b)
		return x == y || x != nil && y != nil && o.elem.equal(x, y)
	case list:
		x, y := *(*[]struct{})(a), *(*[]struct{})(b)
		return len(x) == len(y) && o.elem.equalList(unsafe.Pointer(unsafe.SliceData(x)), unsafe.Pointer(unsafe.SliceData(y)), len(x), o.size)
	}
	return o.run(a, b)
}

// Fields returns a comparison of some fields of two structs of type t. Each path is the index path
// of a field through nested structs. Other fields are not compared.
func (c *Compiler) Fields(t reflect.Type, paths [][]int) Func {
	s := c.structure(t, paths)
	return s.equal
}

// structure compiles the structure that compares the fields of type t at the given index paths.
func (c *Compiler) structure(t reflect.Type, paths [][]int) *structure {
	s := &structure{ops: []op{{}}}
	whole := wholeWords(t)
	if whole {
		s.words = make([]word, t.Size()/wordSize)
	}
	for _, path := range paths {
		offset, typ := locate(t, path)
		c.add(s, typ, offset, whole)
	}
	return s
}

// wholeWords reports whether values of a type consist of aligned 64-bit words.
func wholeWords(t reflect.Type) bool {
	return unsafe.Sizeof(uintptr(0)) == wordSize && t.Align() == wordSize && t.Size()%wordSize == 0
}

// locate returns the offset and the type of the field of t at an index path.
func locate(t reflect.Type, path []int) (offset uintptr, typ reflect.Type) {
	for _, i := range path {
		f := t.Field(i)
		offset, t = offset+f.Offset, f.Type
	}
	return offset, t
}

// add makes s compare a field of type t at an offset. words is set if s has words.
func (c *Compiler) add(s *structure, t reflect.Type, offset uintptr, words bool) {
	switch {
	case t.Kind() == reflect.Struct && !c.special(t):
		for i := range t.NumField() {
			c.add(s, t.Field(i).Type, offset+t.Field(i).Offset, words)
		}
	case plainMemory(t) && words && !s.shared[offset/wordSize]:
		mask := (*[wordSize]byte)(unsafe.Pointer(&s.words[offset/wordSize].mask))
		for i := range t.Size() {
			mask[offset%wordSize+i] = 0xff
		}
	case words && c.reflexive(t):
		o := c.op(t, offset)
		for i := offset / wordSize; i < offset/wordSize+t.Size()/wordSize; i++ {
			s.words[i] = word{mask: 1<<64 - 1, op: uint32(len(s.ops))}
		}
		if t.Kind() == reflect.Slice { // the capacity of a slice does not matter
			s.words[offset/wordSize+2] = word{op: uint32(len(s.ops))}
		}
		s.ops = append(s.ops, o)
	default:
		s.separate = append(s.separate, c.op(t, offset))
	}
}

// reflexive reports whether values of a type fill whole words, and are equal whenever their words
// are equal. This is false for functions and Opaque types, whose values do not equal themselves.
func (c *Compiler) reflexive(t reflect.Type) bool {
	switch {
	case c.exact && Opaque(t):
		return false
	case t == quantityType || t == timeType:
		return true
	case t == intstrType:
		return !c.exact // a value that is neither an int nor a string has no representation
	}
	switch t.Kind() {
	case reflect.String, reflect.Pointer, reflect.Map, reflect.Slice:
		return true
	}
	return false
}

// op returns the op that compares a field of type t at the offset start.
func (c *Compiler) op(t reflect.Type, start uintptr) op {
	o := op{offset: start, end: int((start + t.Size()) / wordSize), run: c.Of(t)}
	o.kind, o.elem, o.size = c.opKind(t)
	return o
}

// opKind returns the kind of op for a type. For a pointer or slice that the op itself follows, it
// also returns the comparison of the type that the pointer or slice refers to. For such a slice it
// also returns the size of an element in bytes.
func (c *Compiler) opKind(t reflect.Type) (opKind, *entry, uintptr) {
	switch {
	case c.exact && Opaque(t):
	case t.Kind() == reflect.String:
		return text, nil, 0
	case t.Kind() == reflect.Pointer:
		return pointer, c.entry(t.Elem()), 0
	case !c.exact && t.Kind() == reflect.Map && t.Key().Kind() == reflect.String && t.Elem().Kind() == reflect.String:
		return textMap, nil, 0
	case t.Kind() != reflect.Slice || c.exact || plainMemory(t.Elem()):
	case t.Elem().Kind() == reflect.String:
		return texts, nil, 0
	default:
		return list, c.entry(t.Elem()), t.Elem().Size()
	}
	return call, nil, 0
}
