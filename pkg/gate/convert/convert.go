// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"errors"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authorization/granular"
)

// ErrNotComparable means that an object can't be compared, because it can't be converted to the
// version of the request, or to another version in which it must be verified.
var ErrNotComparable = errors.New("the object can't be compared field by field")

// Before returns the object with which the new object is compared to find the path of a change
// for a message. That is the stored object oldObj or, for a create, an empty object with its
// defaults, nil if Pristine can't make one.
func Before(target granular.Target, oldObj runtime.Object) (any, error) {
	if Stored(oldObj) {
		return Versioned(target, oldObj)
	}
	return Pristine(target), nil
}

// Pristine returns an empty object with its defaults. A new object is compared with it, so that
// defaults do not count as changes of the caller: decoding sets them before the Gate sees the
// object, for example the phase of a namespace. Upstream's convertors for built-in kinds are
// schemes, which can create and default objects. For other convertors, such as those of custom
// resources, Pristine returns nil. Every field of a new object then counts as a change.
//
// A pod template is part of the empty object. Only a ReplicationController can lack one, and then has
// none of its defaults.
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
	if controller, ok := object.(*corev1.ReplicationController); ok {
		controller.Spec.Template = &corev1.PodTemplateSpec{}
	}
	scheme.Default(object)
	return object
}

// Versioned converts obj to the version of the request, in which permissions are defined. The
// result can share memory with obj, so it must not be changed.
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

// Stored reports whether obj comes from storage: a stored object has a UID. If no object is stored
// yet, handlers pass nil or an empty object as the old object.
func Stored(obj runtime.Object) bool {
	accessor, err := meta.Accessor(obj)
	return err == nil && accessor.GetUID() != ""
}
