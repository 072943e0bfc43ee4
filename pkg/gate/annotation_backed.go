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

// annotationBackedChanges returns the changes of fields that the version of the request lacks.
// Conversion to that version keeps the value of such an annotation-backed field in an annotation:
// an autoscaling/v1 HorizontalPodAutoscaler has most of its spec in annotations, and one
// annotation of an apps/v1 Deployment rolls the Deployment back (ADR 0015). The internal version
// has fields in place of these annotations, so a permission to write annotations is not enough:
// the change is charged to the spec as well, or to the status for a status subresource.
//
// An annotation or label is considered to hold the value of a field if conversion to the version
// of the request adds, removes or rewrites it. Only the conversion knows which field that is. So
// the write is refused if the kind has an excluded permission (one that `update` does not
// include), because that field might need it.
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

// sameMetadataMaps reports whether conversion from hub to shown left annotations and labels
// alone, which is the usual case: both objects then share the same maps in memory. It returns
// true if hub is nil.
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

// convertedKeys returns the keys that conversion added, removed or rewrote.
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
