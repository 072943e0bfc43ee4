// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fast

import (
	"reflect"
	"slices"
	"testing"
	"time"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
)

type sample struct {
	One, Two bool
	Number   int32
	Text     string
	List     []string
	Fun      func()
	Tail     bool
}

func reference(reflect.Value, reflect.Value) bool { return false }

var sampleFields = []Field{{Path: []int{0}}, {Path: []int{3}}, {Path: []int{4}}, {}}

func sampleObject() *Object {
	return New(reference).Object(reflect.TypeFor[sample](), sampleFields, [][]int{{1}, {2}, {6}})
}

// TestFoundIsBelievedOfItsStructs checks that Next uses a Position only for the two structs that
// it is about. Other structs may differ before that position.
func TestFoundIsBelievedOfItsStructs(t *testing.T) {
	o, other := sampleObject(), sampleObject()
	a, b, c := &sample{}, &sample{List: []string{"x"}}, &sample{Text: "x", List: []string{"x"}}
	for _, test := range []struct {
		name  string
		in    *Object
		a, b  *sample
		first int
	}{
		{"its own", o, a, b, 2},
		{"another first", o, c, b, 1},
		{"another second", o, a, c, 1},
		{"another object", other, a, c, 1},
	} {
		found, same := o.Same(unsafe.Pointer(a), unsafe.Pointer(b))
		if same {
			t.Fatal("a list is not seen")
		}
		if test.in != o { // as if the scan had ended in these two structs
			found.a, found.b = unsafe.Pointer(test.a), unsafe.Pointer(test.b)
		}
		if first, _ := test.in.Next(unsafe.Pointer(test.a), unsafe.Pointer(test.b), 0, &found); first != test.first {
			t.Errorf("%s: the first field is %d, not %d", test.name, first, test.first)
		}
	}
}

// TestWhatIsNoValueDoesNotCount checks that these bytes are not compared: padding, fields that the
// Object does not have, and the spare capacity of a slice.
func TestWhatIsNoValueDoesNotCount(t *testing.T) {
	o, compare := sampleObject(), New(reference).Fields(reflect.TypeFor[sample](), [][]int{{0}, {1}, {2}, {3}, {4}, {6}})
	list := make([]string, 1, 3)
	a, b := &sample{List: list}, &sample{List: list[:1:1], Fun: func() {}}
	padding := (*[unsafe.Sizeof(*b)]byte)(unsafe.Pointer(b))
	padding[2], padding[len(padding)-1] = 1, 1
	if unsafe.Offsetof(b.Number) != 4 || unsafe.Offsetof(b.Tail) == uintptr(len(padding)-1) {
		t.Fatal("there is no padding")
	}
	if _, same := o.Same(unsafe.Pointer(a), unsafe.Pointer(b)); !same || !compare(unsafe.Pointer(a), unsafe.Pointer(b)) {
		t.Error("they differ")
	}
	for i, edit := range []func(){
		func() { b.One = true }, func() { b.Text = "x" }, func() { b.List = []string{"x"} },
		func() { b.Two = true }, func() { b.Number = 1 }, func() { b.Tail = true },
	} {
		*b = sample{List: list}
		edit()
		want := i
		if i > 2 {
			want = len(sampleFields)
		}
		found, same := o.Same(unsafe.Pointer(a), unsafe.Pointer(b))
		if first, _ := o.Next(unsafe.Pointer(a), unsafe.Pointer(b), 0, &found); same || first != want || compare(unsafe.Pointer(a), unsafe.Pointer(b)) {
			t.Errorf("edit %d: the first field is %d, not %d", i, first, want)
		}
	}
}

// everyday has fields of the types that most fields of objects have.
type everyday struct {
	Number   int64
	Text     string
	Pointer  *int32
	Texts    map[string]string
	List     []string
	Quantity resource.Quantity
	Time     time.Time
	Either   intstr.IntOrString
}

// TestLookedAtTogether checks that fields are compared by words, if values with the same words are
// always equal.
func TestLookedAtTogether(t *testing.T) {
	of := reflect.TypeFor[everyday]()
	for name, test := range map[string]struct {
		c        *Compiler
		separate int
	}{
		"New": {New(reference), 0}, "NewSemantic": {NewSemantic(reference), 0},
		// An int-or-string whose type is neither int nor string equals nothing, so the field needs
		// an op of its own.
		"NewExact": {NewExact(reference, NewBitwise(reference)), 1}, "NewBitwise": {NewBitwise(reference), 1},
	} {
		s, o := test.c.structure(of, [][]int{nil}), test.c.Object(of, nil, [][]int{nil})
		if len(s.separate) != test.separate || len(o.separate) != test.separate {
			t.Errorf("%s looks at %d and %d by themselves", name, len(s.separate), len(o.separate))
		}
		if want := int(of.Size() / wordSize); len(s.words) != want || len(o.words) != want {
			t.Errorf("%s looks at %d and %d words", name, len(s.words), len(o.words))
		}
	}
}

func TestDifferingKeys(t *testing.T) {
	for _, test := range []struct {
		a, b map[string]string
		want []string
	}{
		{nil, nil, nil},
		{map[string]string{"a": "x", "b": "x"}, map[string]string{"a": "x", "b": "x"}, nil},
		{map[string]string{"a": "x", "b": "x"}, map[string]string{"a": "x", "b": "z"}, []string{"b"}},
		{map[string]string{"a": "x"}, map[string]string{"b": "x"}, []string{"a", "b"}},
		{map[string]string{"a": ""}, nil, []string{"a"}},
		{nil, map[string]string{"a": ""}, []string{"a"}},
	} {
		got := DifferingKeys(unsafe.Pointer(&test.a), unsafe.Pointer(&test.b))
		if slices.Sort(got); !slices.Equal(got, test.want) {
			t.Errorf("%v and %v differ in %v", test.a, test.b, got)
		}
	}
}
