// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldmanagement

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// If only labels and annotations of a typed object are left, upstream still visits every field of
// its structs. To save this time, the object is replaced by an unstructured object with only what
// is left, the minimal object. A field that is zero in both structs is absent in both minimal
// objects, so upstream finds no difference there, with structs or with minimal objects.

// mayBeMinimal reports whether the struct of the plan is an API object: it has apiVersion, kind,
// and metadata of the type metav1.ObjectMeta. names has the names of the plan's fields.
func (s *structPlan) mayBeMinimal(names map[string]bool) bool {
	for i := range s.fields {
		if f := &s.fields[i]; f.name == "metadata" && f.typ == objectMetaType && f.below != nil {
			return names["apiVersion"] && names["kind"]
		}
	}
	return false
}

// isMinimal reports whether an object has no other fields left, after the fields d were dropped,
// than apiVersion, kind, and in the metadata name, namespace, labels, annotations and
// managedFields.
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

// minimalObject returns what is left of an object as an unstructured object. It returns nil if the
// object still has managedFields that are not stub.
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
