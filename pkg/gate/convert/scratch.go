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

// Scratch holds two converted objects, the new and the old object of one comparison. The next
// comparison of objects of the same kind overwrites them, and allocates no others. Between
// comparisons both are empty.
//
// The result of a comparison must not refer to these objects. It consists of paths of fields, and
// shares only strings with the objects.
type Scratch struct {
	new, old buffer
}

// buffer keeps one object, into which other objects are converted, to save memory.
type buffer struct {
	// of is the type of the object that was converted, and by is the convertor. If both are the
	// same for the next object, that object can be converted into the object into, because a kind
	// is always compared in the same version.
	of   reflect.Type
	by   runtime.ObjectConvertor
	kind gvk.GroupVersionKind
	into runtime.Object
}

// Pool lends Scratches for the comparisons of one kind. A nil Pool, which custom resources have
// because they are not converted, lends nil.
type Pool struct {
	pool sync.Pool
}

// Borrow returns a Scratch, which the caller gives back by GiveBack after the comparison. After a
// panic the caller need not give it back.
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

// New converts the new object of a comparison to the version of the request, as Versioned does.
// The result is valid until GiveBack. If s is nil, New returns what Versioned returns.
func (s *Scratch) New(target granular.Target, obj runtime.Object) (any, error) {
	if s == nil {
		return Versioned(target, obj)
	}
	return s.new.convert(target, obj)
}

// Old converts the old object of a comparison to the version of the request, as Versioned does.
// The result is valid until GiveBack. If s is nil, Old returns what Versioned returns.
func (s *Scratch) Old(target granular.Target, obj runtime.Object) (any, error) {
	if s == nil {
		return Versioned(target, obj)
	}
	return s.old.convert(target, obj)
}

func (v *buffer) convert(target granular.Target, obj runtime.Object) (any, error) {
	typ := reflect.TypeOf(obj)
	if v.into != nil && v.of == typ && v.by == target.Convertor {
		err := target.Convertor.Convert(obj, v.into, target.Kind.GroupVersion())
		v.into.GetObjectKind().SetGroupVersionKind(v.kind)
		return v.into, err
	}
	out, err := Versioned(target, obj)
	// Only the result of a scheme is kept as the buffer, because a scheme returns either a new
	// object or, if there is nothing to convert, obj itself. Other convertors can return an object
	// that somebody else uses.
	_, scheme := target.Convertor.(runtime.ObjectCreater)
	if object, ok := out.(runtime.Object); ok && scheme && err == nil && object != obj {
		*v = buffer{of: typ, by: target.Convertor, kind: object.GetObjectKind().GroupVersionKind(), into: object}
	}
	return out, err
}

// empty clears the object in the buffer. That is needed because the next conversion might not set
// every field, and because the object shares memory with the object that was converted.
func (v *buffer) empty() {
	if v.into != nil {
		reflect.ValueOf(v.into).Elem().SetZero()
	}
}
