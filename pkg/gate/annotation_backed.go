// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"maps"
	"reflect"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authorization/granular"

	"kube-granular.dev/granular/change"
)

// annotationBackedChanges returns the changes of annotation-backed fields. Such a field exists in
// the internal version of the object. The version of the request lacks the field, and has its
// value in an annotation: an autoscaling/v1 HorizontalPodAutoscaler has most of its spec in
// annotations, and one annotation of an apps/v1 Deployment rolls the Deployment back (ADR 0015).
// To change such an annotation, the permission for annotations is not enough. The caller also
// needs the permission for the whole spec or, through the subresource status, the whole status.
//
// An annotation or label counts as the value of a field if conversion from the internal version
// to the version of the request adds, removes or rewrites it. Only the conversion knows which
// field that is. If the kind has an excluded permission (one that `update` does not include), the
// field might need that permission, so annotationBackedChanges returns an error, and the write is
// refused. That does not hold for the template generation of a DaemonSet.
//
// newObj and oldObj are in the internal version, newVersioned and oldVersioned in the version of
// the request.
func (k *kind) annotationBackedChanges(target granular.Target, newObj, oldObj runtime.Object, newVersioned, oldVersioned any) (change.Set, error) {
	if sameMetadataMaps(newObj, newVersioned) && sameMetadataMaps(oldObj, oldVersioned) {
		return nil, nil
	}
	if !backingChanged(metav1.Object.GetAnnotations, newObj, oldObj, newVersioned, oldVersioned) &&
		!backingChanged(metav1.Object.GetLabels, newObj, oldObj, newVersioned, oldVersioned) {
		return nil, nil
	}
	if k.excludes() && (backingChanged(withoutGeneration, newObj, oldObj, newVersioned, oldVersioned) ||
		backingChanged(metav1.Object.GetLabels, newObj, oldObj, newVersioned, oldVersioned)) {
		return nil, errAnnotationBacked
	}
	field := "spec"
	if target.Subresource == "status" {
		field = "status"
	}
	return change.Set{k.walker.Charge(field)}, nil
}

// withoutGeneration returns the annotations other than the template generation of a DaemonSet. Conversion
// adds that one to every DaemonSet, the server itself counts it, and no version has a field for it that
// could need an excluded permission.
func withoutGeneration(obj metav1.Object) map[string]string {
	all := obj.GetAnnotations()
	if _, ok := all[appsv1.DeprecatedTemplateGeneration]; !ok {
		return all
	}
	all = maps.Clone(all)
	delete(all, appsv1.DeprecatedTemplateGeneration)
	return all
}

// sameMetadataMaps reports whether conversion left annotations and labels alone. hub is an object
// in the internal version, shown is the same object converted to the version of the request.
// Usually both objects share the same maps in memory, which shows that nothing changed. If hub is
// nil, sameMetadataMaps returns true.
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

func backingChanged(mapOf func(metav1.Object) map[string]string, newObj, oldObj runtime.Object, newVersioned, oldVersioned any) bool {
	after, before := metadataMap(mapOf, newVersioned), metadataMap(mapOf, oldVersioned)
	differs := func(key string) bool {
		x, here := after[key]
		y, there := before[key]
		return x != y || here != there
	}
	return slices.ContainsFunc(convertedKeys(metadataMap(mapOf, newObj), after), differs) ||
		slices.ContainsFunc(convertedKeys(metadataMap(mapOf, oldObj), before), differs)
}

// convertedKeys returns the keys of annotations or labels that conversion added, removed or
// rewrote. hub has the values before the conversion, shown those after it.
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

func metadataMap(mapOf func(metav1.Object) map[string]string, obj any) map[string]string {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return nil
	}
	return mapOf(accessor)
}
