// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"errors"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authorization/granular"
)

// ErrNotComparable means that an object can't be converted to the version of the request.
var ErrNotComparable = errors.New("the object can't be compared field by field")

// Before returns the object that a new object is compared with in a message, nil if there is
// none.
func Before(target granular.Target, oldObj runtime.Object) (any, error) {
	if Stored(oldObj) {
		return Versioned(target, oldObj)
	}
	return Pristine(target), nil
}

// Pristine returns an empty object with its defaults. Decoding sets defaults: a namespace has a
// phase before anybody can compare it, and its creator did not write the phase. Upstream's
// convertors are schemes, which create and default objects. For other convertors, and for custom
// resources, it returns nil, and every field of a new object counts.
func Pristine(target granular.Target) any {
	scheme, ok := target.Convertor.(interface {
		runtime.ObjectCreater
		runtime.ObjectDefaulter
	})
	if !ok {
		return nil
	}
	object, err := scheme.New(target.Kind)
	if err != nil {
		return nil
	}
	scheme.Default(object)
	return object
}

// Versioned converts an object to the version of the request, in which permissions are defined.
// The result may share memory with obj.
func Versioned(target granular.Target, obj runtime.Object) (any, error) {
	if _, ok := obj.(runtime.Unstructured); ok {
		// A custom resource is held in the version of the request already.
		return obj, nil
	}
	if target.Convertor == nil {
		return nil, ErrNotComparable
	}
	return target.Convertor.ConvertToVersion(obj, target.Kind.GroupVersion())
}

// Stored reports whether an object comes from storage. For an object that does not exist yet,
// handlers pass an empty one.
func Stored(obj runtime.Object) bool {
	accessor, err := meta.Accessor(obj)
	return err == nil && accessor.GetUID() != ""
}
