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

// protectsAs returns the protect.Target of a resource of this kind. It describes on which
// resources labels and annotations can end up if they are written to an object of the resource,
// because controllers copy them. The description is made at first use and kept in k, because a
// kind has only one resource.
func (k *kind) protectsAs(resource gvk.GroupVersionResource) *protect.Target {
	if k == noSchema { // noSchema stands for many kinds, so it can't keep a description
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

// attributes returns the labels and annotations that differ between two objects. kinds says
// whether labels, annotations or both are returned. keys limits the result to some keys; nil means
// all keys. The result includes those of embedded objects, such as a pod template. If the
// kind has no schema, every field named metadata is searched for labels and annotations.
func (k *kind) attributes(target granular.Target, kinds schema.Attribute, keys change.Keys, newObj, oldObj runtime.Object) (change.Attributes, error) {
	s := k.scratch.Borrow()
	out, err := k.attributesIn(s, target, kinds, keys, newObj, oldObj)
	k.scratch.GiveBack(s)
	return out, err
}

func (k *kind) attributesIn(
	s *convert.Scratch, target granular.Target, kinds schema.Attribute, keys change.Keys, newObj, oldObj runtime.Object,
) (change.Attributes, error) {
	now, err := s.New(target, newObj)
	if err != nil {
		return nil, err
	}
	var old any
	if convert.Stored(oldObj) {
		if old, err = s.Old(target, oldObj); err != nil {
			return nil, err
		}
	}
	var out change.Attributes
	if k.walker != nil {
		out, err = k.walker.Attributes(kinds, keys, old, now)
	} else {
		out, err = byName(kinds, keys, old, now)
	}
	if err != nil {
		return nil, err
	}
	switch target.Resource.GroupResource() {
	case revisions:
		out = append(out, revised(kinds, keys, old, now)...)
	case deployments:
		out = append(out, rolledBack(kinds, old, now)...)
	}
	return out, nil
}

// byName returns the labels and annotations that differ between two objects of a kind without a
// schema. It searches every field named metadata for them.
func byName(kinds schema.Attribute, keys change.Keys, old, now any) (change.Attributes, error) {
	after, err := contentOf(now)
	if err != nil {
		return nil, err
	}
	before, err := contentOf(old)
	if err != nil {
		return nil, err
	}
	return change.Embedded(kinds, keys, nil, before, after), nil
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

// revised returns the labels and annotations that differ in the field data of a
// ControllerRevision. The controllers of daemon sets and stateful sets make pod templates from
// that field. If the new data can't be read, the result stands for unknown labels and annotations.
func revised(kinds schema.Attribute, keys change.Keys, old, now any) change.Attributes {
	path := change.Path{{Field: "data"}}
	after, ok := dataOf(now)
	if !ok {
		return change.Unknown(kinds, path)
	}
	before, _ := dataOf(old) // if the old data can't be read, all new attributes count
	return change.Embedded(kinds, keys, path, before, after)
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

// rolledBack returns attributes that stand for unknown labels and annotations, if the caller sets
// the annotation that makes the deployment controller roll a Deployment back. The rollback
// restores an older pod template with its labels and annotations. Somebody was admitted to write
// them when that template was new, but perhaps not the caller of this request.
func rolledBack(kinds schema.Attribute, old, now any) change.Attributes {
	revision, asked := rollbackOf(now)
	if earlier, before := rollbackOf(old); !asked || before && earlier == revision {
		return nil
	}
	return change.Unknown(kinds, change.Path{{Field: "metadata"}, {Field: "annotations"}, {Field: appsv1.DeprecatedRollbackTo}})
}

func rollbackOf(object any) (revision string, asked bool) {
	revision, asked = metadataMap(metav1.Object.GetAnnotations, object)[appsv1.DeprecatedRollbackTo]
	return revision, asked
}
