// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	gvk "k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apiserver/pkg/authorization/granular"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/protect"
	"kube-granular.dev/granular/schema"
	"kube-granular.dev/pkg/gate/convert"
)

var (
	revisions   = gvk.GroupResource{Group: appsv1.GroupName, Resource: "controllerrevisions"}
	deployments = gvk.GroupResource{Group: appsv1.GroupName, Resource: "deployments"}
)

// protectsAs returns the target of the kind in package protect. It is made at first use; a kind
// has one resource.
func (k *kind) protectsAs(resource gvk.GroupVersionResource) *protect.Target {
	if k == noSchema { // it serves many kinds
		return targetOf(resource.GroupResource(), nil)
	}
	if known := k.target.Load(); known != nil {
		return known
	}
	var tree *schema.Tree
	if k.walker != nil {
		tree = k.walker.Tree()
	}
	made := targetOf(resource.GroupResource(), tree)
	k.target.Store(made)
	return made
}

func targetOf(resource gvk.GroupResource, tree *schema.Tree) *protect.Target {
	out := copiedAttributes.Target(protect.Resource{Group: resource.Group, Resource: resource.Resource}, tree)
	if resource == revisions {
		out = out.WithEmbedded()
	}
	return out
}

// attributes returns the labels and annotations of the given kinds and keys that differ. Nil
// keys are all keys. In objects without a schema they are found by name.
func (k *kind) attributes(target granular.Target, kinds schema.Attribute, keys change.Keys, newObj, oldObj runtime.Object) (change.Attributes, error) {
	s := k.scratch.Borrow()
	out, err := k.attributesIn(s, target, kinds, keys, newObj, oldObj)
	k.scratch.GiveBack(s)
	return out, err
}

func (k *kind) attributesIn(s *convert.Scratch, target granular.Target, kinds schema.Attribute, keys change.Keys, newObj, oldObj runtime.Object) (change.Attributes, error) {
	now, err := s.New(target, newObj)
	if err != nil {
		return nil, err
	}
	var was any
	if convert.Stored(oldObj) {
		if was, err = s.Old(target, oldObj); err != nil {
			return nil, err
		}
	}
	var out change.Attributes
	if k.walker != nil {
		out, err = k.walker.Attributes(kinds, keys, was, now)
	} else {
		out, err = byName(kinds, was, now)
	}
	if err != nil {
		return nil, err
	}
	switch target.Resource.GroupResource() {
	case revisions:
		out = append(out, revised(kinds, was, now)...)
	case deployments:
		out = append(out, rolledBack(kinds, was, now)...)
	}
	return out, nil
}

// byName finds attributes in objects without a schema: those of any metadata.
func byName(kinds schema.Attribute, was, now any) (change.Attributes, error) {
	after, err := contentOf(now)
	if err != nil {
		return nil, err
	}
	before, err := contentOf(was)
	if err != nil {
		return nil, err
	}
	return change.Embedded(kinds, nil, before, after), nil
}

func contentOf(object any) (any, error) {
	switch o := object.(type) {
	case nil:
		return nil, nil
	case runtime.Unstructured:
		return o.UnstructuredContent(), nil
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	return content, err
}

// revised finds the attributes in the data of a ControllerRevision, from which daemon sets and
// stateful sets make their templates.
func revised(kinds schema.Attribute, was, now any) change.Attributes {
	at := change.Path{{Field: "data"}}
	after, ok := dataOf(now)
	if !ok {
		return change.Unknown(kinds, at)
	}
	before, _ := dataOf(was) // if the old data can't be read, all new attributes count
	return change.Embedded(kinds, at, before, after)
}

func dataOf(object any) (data any, ok bool) {
	revision, ok := object.(*appsv1.ControllerRevision)
	if !ok {
		return nil, false
	}
	raw, err := revision.Data.MarshalJSON()
	if err != nil || utiljson.Unmarshal(raw, &data) != nil {
		return nil, false
	}
	return data, true
}

// rolledBack returns the attributes that stand for a rollback which the deployment controller is
// told to make. The old template was admitted at some time, but it is not known for which
// caller.
func rolledBack(kinds schema.Attribute, was, now any) change.Attributes {
	to, asked := rollbackOf(now)
	if from, before := rollbackOf(was); !asked || before && from == to {
		return nil
	}
	return change.Unknown(kinds, change.Path{{Field: "metadata"}, {Field: "annotations"}, {Field: appsv1.DeprecatedRollbackTo}})
}

func rollbackOf(object any) (to string, asked bool) {
	to, asked = metadataMap(metav1.Object.GetAnnotations, object)[appsv1.DeprecatedRollbackTo]
	return to, asked
}
