// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package authorizer

import (
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	gvk "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/granular"
)

// scratch holds the new and the old object of one comparison in the version of the request,
// which nobody needs afterwards. The next comparison of the kind has them written over, so
// that it makes none of its own. Between comparisons they are empty.
//
// What a comparison finds may not refer to them: it names fields, and shares no more than
// text with the objects.
type scratch struct {
	new, old version
}

// version is an object that others are converted into.
type version struct {
	// of is the type that was converted, and by whom, from which the object's own follows: a
	// kind is compared in one version.
	of   reflect.Type
	by   runtime.ObjectConvertor
	kind gvk.GroupVersionKind
	into runtime.Object
}

// borrow gives what is handed back by giveBack, or by nobody where a comparison panics. It
// is nil for a custom resource, which is not converted.
func (k *kind) borrow() *scratch {
	if k.scratch == nil {
		return nil
	}
	s, ok := k.scratch.Get().(*scratch)
	if !ok {
		s = &scratch{}
	}
	return s
}

func (k *kind) giveBack(s *scratch) {
	if s != nil {
		s.new.empty()
		s.old.empty()
		k.scratch.Put(s)
	}
}

// versionedNew is versioned for the new object of a comparison.
func (s *scratch) versionedNew(target granular.Target, obj runtime.Object) (any, error) {
	if s == nil {
		return versioned(target, obj)
	}
	return s.new.versioned(target, obj)
}

// versionedOld is versioned for the old object.
func (s *scratch) versionedOld(target granular.Target, obj runtime.Object) (any, error) {
	if s == nil {
		return versioned(target, obj)
	}
	return s.old.versioned(target, obj)
}

func (v *version) versioned(target granular.Target, obj runtime.Object) (any, error) {
	of := reflect.TypeOf(obj)
	if v.into != nil && v.of == of && v.by == target.Convertor {
		err := target.Convertor.Convert(obj, v.into, target.Kind.GroupVersion())
		v.into.GetObjectKind().SetGroupVersionKind(v.kind)
		return v.into, err
	}
	out, err := versioned(target, obj)
	// A scheme makes a new object and converts into that, or has nothing to convert. What
	// another convertor does is not known.
	_, scheme := target.Convertor.(runtime.ObjectCreater)
	if into, ok := out.(runtime.Object); ok && scheme && err == nil && into != obj {
		*v = version{of: of, by: target.Convertor, kind: into.GetObjectKind().GroupVersionKind(), into: into}
	}
	return out, err
}

// empty leaves nothing of an object for a conversion that does not set every field, and
// nothing that it shares with the object it was made of.
func (v *version) empty() {
	if v.into != nil {
		reflect.ValueOf(v.into).Elem().SetZero()
	}
}
