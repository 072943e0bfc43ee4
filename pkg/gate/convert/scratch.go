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
// kind overwrites both instead of allocating new ones. Between comparisons both are empty.
//
// The result of a comparison must not refer to these objects. It names fields, and shares only
// strings with the objects.
type Scratch struct {
	new, old buffer
}

// buffer is an object that other objects are converted into.
type buffer struct {
	// of is the type of the object that was converted, and by is the convertor. Both determine
	// the type of into, because a kind is compared in one version.
	of   reflect.Type
	by   runtime.ObjectConvertor
	kind gvk.GroupVersionKind
	into runtime.Object
}

// Pool lends Scratches for the comparisons of one kind. A nil Pool lends none. It is for custom
// resources, which are not converted.
type Pool struct {
	pool sync.Pool
}

// Borrow returns a Scratch, which the caller returns with GiveBack. After a panic the caller may
// drop it instead.
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

// New converts the new object of a comparison, as Versioned does. A nil Scratch does not reuse
// memory.
func (s *Scratch) New(target granular.Target, obj runtime.Object) (any, error) {
	if s == nil {
		return Versioned(target, obj)
	}
	return s.new.convert(target, obj)
}

// Old converts the old object of a comparison, as Versioned does. A nil Scratch does not reuse
// memory.
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

// empty clears the object in the buffer. A later conversion may not set every field, and the
// object shares memory with the object that it was converted from.
func (v *buffer) empty() {
	if v.into != nil {
		reflect.ValueOf(v.into).Elem().SetZero()
	}
}
