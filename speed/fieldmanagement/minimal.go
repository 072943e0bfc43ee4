// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldmanagement

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// An object of which labels and annotations are left has the shape of all it had, and
// upstream goes through every field of every struct in it. So it is replaced by a map
// of what is left. A field that is zero on both sides, or on none there, is no
// difference either way.

// mayBeBare says that a struct is one of those objects.
func (s *structPlan) mayBeMinimal(names map[string]bool) bool {
	for i := range s.fields {
		if f := &s.fields[i]; f.name == "metadata" && f.typ == objectMetaType && f.below != nil {
			return names["apiVersion"] && names["kind"]
		}
	}
	return false
}

// isBare says that nothing but kind, name, labels, annotations and managers was left.
func (s *structPlan) isMinimal(d []dropped) bool {
	if !s.minimal {
		return false
	}
	left := s.count - 2 // apiVersion and kind
	for _, here := range d {
		switch {
		case len(here.below) == 0:
			left--
		case here.name == "metadata" && minimalMetadata(s.metadata(), here.below):
			left--
		}
	}
	return left == 0
}

func (s *structPlan) metadata() *structPlan {
	for i := range s.fields {
		if s.fields[i].name == "metadata" {
			return s.fields[i].below
		}
	}
	return nil
}

func minimalMetadata(s *structPlan, d []dropped) bool {
	left := s.count - 5
	for _, here := range d {
		bare := here.name == "name" || here.name == "namespace" || here.name == "managedFields" || here.name == "labels" || here.name == "annotations"
		if len(here.below) == 0 && !bare {
			left--
		}
	}
	return left == 0
}

// bareObject copies what is left of an object, or gives nil where that is more.
func minimalObject(o runtime.Object, gvk schema.GroupVersionKind) *unstructured.Unstructured {
	m, err := meta.Accessor(o)
	if err != nil {
		return nil
	}
	metadata := map[string]any{}
	for name, value := range map[string]string{"name": m.GetName(), "namespace": m.GetNamespace()} {
		if value != "" {
			metadata[name] = value
		}
	}
	for name, values := range map[string]map[string]string{"labels": m.GetLabels(), "annotations": m.GetAnnotations()} {
		if len(values) > 0 {
			copied := make(map[string]any, len(values))
			for k, v := range values {
				copied[k] = v
			}
			metadata[name] = copied
		}
	}
	switch entries := m.GetManagedFields(); {
	case len(entries) == 0:
	case &entries[0] == &stub[0]:
		metadata["managedFields"] = plainStub
	default:
		return nil
	}
	version, kind := gvk.ToAPIVersionAndKind()
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": version, "kind": kind, "metadata": metadata}}
}
