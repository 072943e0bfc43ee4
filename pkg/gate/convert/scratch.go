// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	gvk "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/granular"
)

// Scratch holds the converted new and old object of one comparison. The next comparison of the
// kind overwrites them instead of allocating new ones. Between comparisons they are empty.
//
// The result of a comparison must not refer to them. It names fields, and shares only strings
// with the objects.
type Scratch struct {
	new, old buffer
}

// buffer is an object that other objects are converted into.
type buffer struct {
	// of is the type that was converted, and by the convertor. Both determine the type of into,
	// because a kind is compared in one version.
	of   reflect.Type
	by   runtime.ObjectConvertor
	kind gvk.GroupVersionKind
	into runtime.Object
}

// Pool lends Scratches for the comparisons of one kind. A nil Pool lends none: custom resources
// are not converted.
type Pool struct {
	pool sync.Pool
}

// Borrow returns a Scratch. Return it with GiveBack; after a panic it may be dropped.
func (p *Pool) Borrow() *Scratch {
	if p == nil {
		return nil
	}
	if s, ok := p.pool.Get().(*Scratch); ok {
		return s
	}
	return &Scratch{}
}

// GiveBack empties a Scratch and returns it to the pool.
func (p *Pool) GiveBack(s *Scratch) {
	if s != nil {
		s.new.empty()
		s.old.empty()
		p.pool.Put(s)
	}
}

// New is Versioned for the new object of a comparison.
func (s *Scratch) New(target granular.Target, obj runtime.Object) (any, error) {
	if s == nil {
		return Versioned(target, obj)
	}
	return s.new.convert(target, obj)
}

// Old is Versioned for the old object of a comparison.
func (s *Scratch) Old(target granular.Target, obj runtime.Object) (any, error) {
	if s == nil {
		return Versioned(target, obj)
	}
	return s.old.convert(target, obj)
}

func (v *buffer) convert(target granular.Target, obj runtime.Object) (any, error) {
	of := reflect.TypeOf(obj)
	if v.into != nil && v.of == of && v.by == target.Convertor {
		err := target.Convertor.Convert(obj, v.into, target.Kind.GroupVersion())
		v.into.GetObjectKind().SetGroupVersionKind(v.kind)
		return v.into, err
	}
	out, err := Versioned(target, obj)
	// A scheme converts into a new object, or returns obj if there is nothing to convert.
	// Other convertors may behave differently.
	_, scheme := target.Convertor.(runtime.ObjectCreater)
	if into, ok := out.(runtime.Object); ok && scheme && err == nil && into != obj {
		*v = buffer{of: of, by: target.Convertor, kind: into.GetObjectKind().GroupVersionKind(), into: into}
	}
	return out, err
}

// empty clears the object, because a conversion may not set every field, and because the object
// shares memory with the one it was made from.
func (v *buffer) empty() {
	if v.into != nil {
		reflect.ValueOf(v.into).Elem().SetZero()
	}
}
