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

// Scratch holds the new and the old object of one comparison in the version of the request,
// which nobody needs afterwards. The next comparison of the kind has them written over, so
// that it makes none of its own. Between comparisons they are empty.
//
// What a comparison finds may not refer to them: it names fields, and shares no more than
// text with the objects.
type Scratch struct {
	new, old buffer
}

// version is an object that others are converted into.
type buffer struct {
	// of is the type that was converted, and by whom, from which the object's own follows: a
	// kind is compared in one version.
	of   reflect.Type
	by   runtime.ObjectConvertor
	kind gvk.GroupVersionKind
	into runtime.Object
}

// Pool lends scratches for the comparisons of one kind. A nil Pool lends none: a custom
// resource is not converted.
type Pool struct {
	pool sync.Pool
}

// Borrow returns a scratch to be handed back by GiveBack, or by nobody where a comparison
// panics.
func (p *Pool) Borrow() *Scratch {
	if p == nil {
		return nil
	}
	if s, ok := p.pool.Get().(*Scratch); ok {
		return s
	}
	return &Scratch{}
}

// GiveBack empties a scratch, and lends it to the next comparison.
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

// Old is Versioned for the old object.
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
	// A scheme makes a new object and converts into that, or has nothing to convert. What
	// another convertor does is not known.
	_, scheme := target.Convertor.(runtime.ObjectCreater)
	if into, ok := out.(runtime.Object); ok && scheme && err == nil && into != obj {
		*v = buffer{of: of, by: target.Convertor, kind: into.GetObjectKind().GroupVersionKind(), into: into}
	}
	return out, err
}

// empty leaves nothing of an object for a conversion that does not set every field, and
// nothing that it shares with the object it was made of.
func (v *buffer) empty() {
	if v.into != nil {
		reflect.ValueOf(v.into).Elem().SetZero()
	}
}
