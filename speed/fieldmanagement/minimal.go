// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldmanagement

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// If only labels and annotations of a typed object are left, upstream still visits every field
// of its structs. So the object is replaced by an unstructured one with what is left, the
// minimal object. A field that is zero in both structs is absent in both minimal objects, so
// upstream finds it equal in either form.

// mayBeMinimal reports whether a struct is an API object: it has apiVersion, kind and the usual
// metadata.
func (s *structPlan) mayBeMinimal(names map[string]bool) bool {
	for i := range s.fields {
		if f := &s.fields[i]; f.name == "metadata" && f.typ == objectMetaType && f.below != nil {
			return names["apiVersion"] && names["kind"]
		}
	}
	return false
}

// isMinimal reports whether only kind, name, labels, annotations and managedFields of an object
// are left after the fields d were dropped.
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

// minimalObject returns what is left of an object as an unstructured object, or nil if the
// object has managedFields other than stub.
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
