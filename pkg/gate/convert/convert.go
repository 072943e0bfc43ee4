// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"errors"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authorization/granular"
)

// ErrNotComparable is returned for an object that nothing converts.
var ErrNotComparable = errors.New("the object can't be compared field by field")

// Before returns what a new object is shown against, nil standing for nothing at all.
func Before(target granular.Target, oldObj runtime.Object) (any, error) {
	if Stored(oldObj) {
		return Versioned(target, oldObj)
	}
	return Pristine(target), nil
}

// Pristine returns an object that says nothing, after defaulting. Defaults come with
// decoding: the phase of a namespace is set before anybody can look, and is not what
// its creator wrote. Upstream's convertors are schemes, which make and default the
// objects they convert; where one is not, and for custom resources, everything in a
// new object counts.
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

// Versioned brings an object into the version of the request, which is the one
// that permissions are written for. The result may share memory with obj.
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

// Stored reports whether an object comes from storage. Handlers pass an empty object
// for one that does not exist yet.
func Stored(obj runtime.Object) bool {
	accessor, err := meta.Accessor(obj)
	return err == nil && accessor.GetUID() != ""
}
