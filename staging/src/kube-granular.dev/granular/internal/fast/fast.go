// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fast

import (
	"encoding/json"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Func reports whether the values at two addresses are equal.
type Func func(a, b unsafe.Pointer) bool

// Reference is a slow comparison by reflection. It defines which values are equal: a Compiler that
// is made for a Reference compiles functions that return the same.
type Reference func(a, b reflect.Value) bool

// Address returns the address of an addressable value. It is faster than v.Addr, because it does
// not look up the type of the pointer.
func Address(v reflect.Value) unsafe.Pointer { return unsafe.Pointer(v.UnsafeAddr()) }

// Compiler compiles comparisons and caches them by type. Any number of goroutines may use it.
type Compiler struct {
	reference Reference
	exact     bool
	// inLists compiles comparisons for elements of slices. If inLists is nil, the Compiler itself
	// compiles them.
	inLists *Compiler
	// bitwise is set if quantities, times and int-or-strings are compared with ==.
	bitwise bool
	// semantic is set if quantities and times are compared by meaning, and an IntOrString like any
	// struct, field by field.
	semantic bool
	made     sync.Map // reflect.Type to *entry
}

// entry is the comparison of a type. The comparison is compiled at its first use, not before,
// because a type can refer to itself.
type entry struct {
	c    *Compiler
	t    reflect.Type
	once sync.Once
	made atomic.Pointer[comparison]
}

// comparison compares values of a type. If words is set, as for most structs, words compares them.
// If words is nil, the function run does.
type comparison struct {
	words *structure
	run   Func
}

// get returns the comparison, and compiles it at the first call.
func (e *entry) get() *comparison {
	if m := e.made.Load(); m != nil {
		return m
	}
	e.once.Do(func() { e.made.Store(e.c.compile(e.t)) })
	return e.made.Load()
}

// equal reports whether the values at two addresses are equal.
func (e *entry) equal(a, b unsafe.Pointer) bool {
	m := e.get()
	if m.words != nil {
		return m.words.differs(a, b, 0) == len(m.words.words)
	}
	return m.run(a, b)
}

// equalList reports whether the n values that begin at address a equal those that begin at b. Each
// value has size bytes.
func (e *entry) equalList(a, b unsafe.Pointer, n int, size uintptr) bool {
	if a == b {
		return true
	}
	m := e.get()
	for i := range uintptr(n) {
		x, y := unsafe.Add(a, i*size), unsafe.Add(b, i*size)
		if m.words != nil {
			if m.words.differs(x, y, 0) < len(m.words.words) {
				return false
			}
		} else if !m.run(x, y) {
			return false
		}
	}
	return true
}

// New returns a compiler for a reference that treats a nil map or slice as equal to an empty one.
func New(reference Reference) *Compiler { return &Compiler{reference: reference} }

// NewExact returns a compiler for a reference for which a nil map or slice differs from an empty
// one. For this reference, an IntOrString whose type is neither int nor string equals nothing, not
// even itself. inLists is the compiler for the elements of slices.
func NewExact(reference Reference, inLists *Compiler) *Compiler {
	return &Compiler{reference: reference, exact: true, inLists: inLists}
}

// NewBitwise returns a compiler for a reference that compares like reflect.DeepEqual: two
// representations of the same quantity, instant or int-or-string are not equal.
func NewBitwise(reference Reference) *Compiler {
	return &Compiler{reference: reference, exact: true, bitwise: true}
}

// NewSemantic returns a compiler for a reference that compares by meaning. An int-or-string is
// compared like any struct.
func NewSemantic(reference Reference) *Compiler {
	return &Compiler{reference: reference, semantic: true}
}

// Of returns the comparison for a type.
func (c *Compiler) Of(t reflect.Type) Func { return c.entry(t).equal }

// entry returns the entry of a type, which is compiled at first use.
func (c *Compiler) entry(t reflect.Type) *entry {
	found, ok := c.made.Load(t)
	if !ok {
		found, _ = c.made.LoadOrStore(t, &entry{c: c, t: t})
	}
	return found.(*entry)
}

var (
	quantityType = reflect.TypeFor[resource.Quantity]()
	timeType     = reflect.TypeFor[time.Time]()
	intstrType   = reflect.TypeFor[intstr.IntOrString]()
)

// special reports whether values of a type have a comparison of their own, so that a struct of this
// type is not compared field by field.
func (c *Compiler) special(t reflect.Type) bool {
	return t == quantityType || t == timeType || t == intstrType && !c.semantic || c.exact && Opaque(t)
}

// compile returns a new comparison for a type.
func (c *Compiler) compile(t reflect.Type) *comparison {
	if t.Kind() == reflect.Struct && !c.special(t) {
		s := c.structure(t, [][]int{nil})
		if len(s.separate) == 0 {
			return &comparison{words: s}
		}
		return &comparison{run: s.equal}
	}
	return &comparison{run: c.function(t)}
}

// function returns a comparison for a type that is not a struct, or for a special type.
func (c *Compiler) function(t reflect.Type) Func {
	switch t {
	case quantityType:
		return func(a, b unsafe.Pointer) bool {
			x, y := (*resource.Quantity)(a), (*resource.Quantity)(b)
			return *x == *y || !c.bitwise && c.quantity(*x, *y)
		}
	case timeType:
		if c.bitwise {
			return func(a, b unsafe.Pointer) bool { return *(*time.Time)(a) == *(*time.Time)(b) }
		}
		if c.semantic {
			return func(a, b unsafe.Pointer) bool { return (*time.Time)(a).UTC() == (*time.Time)(b).UTC() }
		}
		return func(a, b unsafe.Pointer) bool { return (*time.Time)(a).Equal(*(*time.Time)(b)) }
	case intstrType:
		return c.intOrString
	}
	if c.exact && Opaque(t) {
		return func(_, _ unsafe.Pointer) bool { return false }
	}
	switch t.Kind() {
	case reflect.String:
		return func(a, b unsafe.Pointer) bool { return *(*string)(a) == *(*string)(b) }
	case reflect.Pointer:
		elem := c.entry(t.Elem())
		return func(a, b unsafe.Pointer) bool {
			x, y := *(*unsafe.Pointer)(a), *(*unsafe.Pointer)(b)
			return x == y || x != nil && y != nil && elem.equal(x, y)
		}
	case reflect.Slice:
		return c.slice(t)
	case reflect.Map:
		return c.mapping(t)
	}
	if plainMemory(t) {
		return memory(t.Size())
	}
	return c.byReference(t)
}

var marshalerType = reflect.TypeFor[json.Marshaler]()

// Opaque reports whether a type has a MarshalJSON that this package does not know. A pointer to
// such a type is not opaque, because two nil pointers are equal.
func Opaque(t reflect.Type) bool {
	switch {
	case t == quantityType || t == timeType || t == intstrType || t.Kind() == reflect.Pointer:
		return false
	case t.Kind() == reflect.Struct && t.NumField() == 1 && t.Field(0).Type == timeType:
		return false
	}
	return t.Implements(marshalerType) || reflect.PointerTo(t).Implements(marshalerType)
}

// byReference returns a function that calls the reference.
func (c *Compiler) byReference(t reflect.Type) Func {
	return func(a, b unsafe.Pointer) bool {
		return c.reference(reflect.NewAt(t, a).Elem(), reflect.NewAt(t, b).Elem())
	}
}

// plainMemory reports whether t is a boolean or number type: two values of such a type are equal
// exactly if their bytes in memory are equal.
func plainMemory(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr,
		reflect.Float32, reflect.Float64:
		return true
	}
	return false
}

// memory returns a comparison of size bytes of memory.
func memory(size uintptr) Func {
	switch size {
	case 1:
		return func(a, b unsafe.Pointer) bool { return *(*uint8)(a) == *(*uint8)(b) }
	case 4:
		return func(a, b unsafe.Pointer) bool { return *(*uint32)(a) == *(*uint32)(b) }
	case 8:
		return func(a, b unsafe.Pointer) bool { return *(*uint64)(a) == *(*uint64)(b) }
	}
	return func(a, b unsafe.Pointer) bool {
		return string(unsafe.Slice((*byte)(a), size)) == string(unsafe.Slice((*byte)(b), size))
	}
}

// quantity reports whether two quantities are equal. It takes copies, because a Quantity that is
// printed caches its text in itself, which must not happen to a shared object.
func (c *Compiler) quantity(a, b resource.Quantity) bool {
	if c.semantic {
		return a.Cmp(b) == 0
	}
	return a.String() == b.String()
}

func (c *Compiler) intOrString(a, b unsafe.Pointer) bool {
	x, y := (*intstr.IntOrString)(a), (*intstr.IntOrString)(b)
	switch {
	case x.Type != y.Type || c.bitwise && *x != *y:
		return false
	case x.Type == intstr.Int:
		return x.IntVal == y.IntVal
	case x.Type == intstr.String:
		return x.StrVal == y.StrVal
	}
	return !c.exact && *x == *y
}

// slice returns a comparison for a slice type.
func (c *Compiler) slice(t reflect.Type) Func {
	elem, size, exact := t.Elem(), t.Elem().Size(), c.exact
	if plainMemory(elem) {
		return func(a, b unsafe.Pointer) bool {
			x, y := *(*[]byte)(a), *(*[]byte)(b)
			if len(x) != len(y) || exact && (x == nil) != (y == nil) {
				return false
			}
			n := uintptr(len(x)) * size
			return string(unsafe.Slice(unsafe.SliceData(x), n)) == string(unsafe.Slice(unsafe.SliceData(y), n))
		}
	}
	if elem.Kind() == reflect.String && !(exact && Opaque(elem)) {
		return func(a, b unsafe.Pointer) bool {
			x, y := *(*[]string)(a), *(*[]string)(b)
			return slices.Equal(x, y) && (!exact || (x == nil) == (y == nil))
		}
	}
	below := c
	if c.inLists != nil {
		below = c.inLists
	}
	child := below.entry(elem)
	return func(a, b unsafe.Pointer) bool {
		x, y := *(*[]struct{})(a), *(*[]struct{})(b)
		if len(x) != len(y) || exact && (x == nil) != (y == nil) {
			return false
		}
		return size == 0 || child.equalList(unsafe.Pointer(unsafe.SliceData(x)), unsafe.Pointer(unsafe.SliceData(y)), len(x), size)
	}
}
