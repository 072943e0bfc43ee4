// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package equality

import (
	"reflect"
	"sync"

	upstream "k8s.io/apimachinery/pkg/api/equality"
	forked "k8s.io/apimachinery/third_party/forked/golang/reflect"

	"kube-granular.dev/granular/equal"
)

// New returns a function for InstallCompiled of the forked package reflect. The function gives no
// result (known is false) while enabled returns false, and for Equalities other than
// equality.Semantic. Several goroutines may call the returned function at the same time.
func New(enabled func() bool) func(e forked.Equalities, a, b any) (equal, known bool) {
	c := &comparisons{}
	return func(e forked.Equalities, a, b any) (equal, known bool) {
		if !enabled() || !isSemantic(e) {
			return false, false
		}
		return c.compare(a, b)
	}
}

// isSemantic reports whether e is equality.Semantic itself. A copy is not accepted, because
// functions for other types may have been added to the copy.
func isSemantic(e forked.Equalities) bool {
	return reflect.ValueOf(e).UnsafePointer() == reflect.ValueOf(upstream.Semantic.Equalities).UnsafePointer()
}

// comparisons has a compiled comparison for each type that was compared so far. It is compiled
// when two values of the type are compared for the first time.
type comparisons struct {
	made sync.Map // reflect.Type to comparison
}

// comparison compares two values of one type. It is nil for a type that is not supported.
type comparison func(a, b reflect.Value) bool

// compare compares two values. It gives no result (known is false) for types that are not
// supported, and for scalars, which upstream compares as fast.
func (c *comparisons) compare(a, b any) (equal, known bool) {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	if !x.IsValid() || !y.IsValid() || x.Type() != y.Type() {
		return false, false
	}
	switch x.Kind() {
	case reflect.Pointer:
		if x.IsNil() || y.IsNil() {
			return false, false
		}
		if f := c.of(x.Type().Elem()); f != nil {
			return f(x.Elem(), y.Elem()), true
		}
	case reflect.Struct, reflect.Slice, reflect.Map:
		if f := c.of(x.Type()); f != nil {
			return f(addressable(x), addressable(y)), true
		}
	}
	return false, false
}

func (c *comparisons) of(t reflect.Type) comparison {
	found, ok := c.made.Load(t)
	if !ok {
		f := comparison(nil)
		if supported(t) {
			f = equal.Semantic(t)
		}
		found, _ = c.made.LoadOrStore(t, f)
	}
	return found.(comparison)
}

func addressable(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	return out
}
