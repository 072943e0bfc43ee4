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

// TestFoundIsBelievedOfItsStructs shows that Next begins at a Position only if the Position belongs
// to the same Object and the same two structs. In other structs, an earlier field may differ.
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
		if test.in != o { // the Position has the right addresses, but belongs to another Object
			found.a, found.b = unsafe.Pointer(test.a), unsafe.Pointer(test.b)
		}
		if first, _ := test.in.Next(unsafe.Pointer(test.a), unsafe.Pointer(test.b), 0, &found); first != test.first {
			t.Errorf("%s: the first field is %d, not %d", test.name, first, test.first)
		}
	}
}

// TestWhatIsNoValueDoesNotCount shows that two structs are equal although they differ in padding,
// in a field that is not compared, and in the capacity of a slice.
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

// everyday has a field of each type that is common in Kubernetes objects.
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

// TestLookedAtTogether shows that a compiler compares all fields of everyday by their words first.
// Only a field that may differ although its words are equal is a separate op.
func TestLookedAtTogether(t *testing.T) {
	of := reflect.TypeFor[everyday]()
	for name, test := range map[string]struct {
		c        *Compiler
		separate int
	}{
		"New": {New(reference), 0}, "NewSemantic": {NewSemantic(reference), 0},
		// An IntOrString that is neither an int nor a string equals nothing, not even itself.
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
