// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authorization/granular"

	"kube-granular.dev/granular/change"
)

// standIns gives the change of fields that the version of the request has no place
// for. Conversion then keeps them in annotations: in autoscaling/v1 most of what a
// HorizontalPodAutoscaler specifies is in its annotations, and an annotation of an
// apps/v1 Deployment rolls it back. What is stored is not an annotation, so who may
// write annotations may not write it; it is charged to the specification, or, through
// a status, to the status, as well.
//
// An annotation or label stands in for a field if the object in the version of the
// request has another value for it than the object that is stored. Which field that is
// only the conversion knows, so where fields of the kind are excluded it is refused.
func (k *kind) annotationBackedChanges(target granular.Target, newObj, oldObj runtime.Object, newVersioned, oldVersioned any) (change.Set, error) {
	if sameMetadataMaps(newObj, newVersioned) && sameMetadataMaps(oldObj, oldVersioned) {
		return nil, nil
	}
	if !backingChanged(metav1.Object.GetAnnotations, newObj, oldObj, newVersioned, oldVersioned) &&
		!backingChanged(metav1.Object.GetLabels, newObj, oldObj, newVersioned, oldVersioned) {
		return nil, nil
	}
	if k.excludes() {
		return nil, errAnnotationBacked
	}
	field := "spec"
	if target.Subresource == "status" {
		field = "status"
	}
	return change.Set{k.walker.Charge(field)}, nil
}

// handedOn says that conversion left annotations and labels alone, as it mostly does: they
// are the same maps. That holds of no object too.
func sameMetadataMaps(hub runtime.Object, shown any) bool {
	if hub == nil {
		return true
	}
	a, err := meta.Accessor(hub)
	b, errShown := meta.Accessor(shown)
	return err == nil && errShown == nil && sameMap(a.GetAnnotations(), b.GetAnnotations()) && sameMap(a.GetLabels(), b.GetLabels())
}

func sameMap(a, b map[string]string) bool {
	return reflect.ValueOf(a).UnsafePointer() == reflect.ValueOf(b).UnsafePointer()
}

func backingChanged(of func(metav1.Object) map[string]string, newObj, oldObj runtime.Object, newVersioned, oldVersioned any) bool {
	after, before := metadataMap(of, newVersioned), metadataMap(of, oldVersioned)
	differs := func(key string) bool {
		x, here := after[key]
		y, there := before[key]
		return x != y || here != there
	}
	return slices.ContainsFunc(convertedKeys(metadataMap(of, newObj), after), differs) || slices.ContainsFunc(convertedKeys(metadataMap(of, oldObj), before), differs)
}

// moved lists the keys that conversion put there, took away or rewrote.
func convertedKeys(hub, shown map[string]string) []string {
	if sameMap(hub, shown) || maps.Equal(hub, shown) {
		return nil
	}
	var out []string
	for key, x := range shown {
		if y, ok := hub[key]; !ok || x != y {
			out = append(out, key)
		}
	}
	for key := range hub {
		if _, ok := shown[key]; !ok {
			out = append(out, key)
		}
	}
	return out
}

func metadataMap(of func(metav1.Object) map[string]string, obj any) map[string]string {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return nil
	}
	return of(accessor)
}
