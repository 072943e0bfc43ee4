// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package learn

import (
	"encoding/json"
	"maps"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/runtime"
	kubeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/schema"
)

// requestedObject returns the object that a patch requests, before defaulting and admission. A log
// does not distinguish a merge patch from a strategic merge patch. So requestedObject tries both
// and returns the result with fewer differences from the stored object. An applied object is
// treated as a strategic merge patch, or as a merge patch if it is a custom resource. The type that is
// returned is that of the patch, or of a patch with the same effect.
func requestedObject(w *change.Walker, e *event, old []byte, after map[string]any) (map[string]any, types.PatchType, bool) {
	typed := builtIn(old)
	if operations, err := jsonpatch.DecodePatch(e.RequestObject); err == nil {
		data, err := operations.Apply(old)
		out, ok := decoded(data, err, typed)
		return out, types.JSONPatchType, ok
	}
	data, err := jsonpatch.MergePatch(old, e.RequestObject)
	merged, ok := decoded(data, err, typed)
	if typed == nil {
		return merged, types.MergePatchType, ok // custom resources have no strategic patches
	}
	data, err = strategicpatch.StrategicMergePatch(old, e.RequestObject, typed)
	strategic, possible := decoded(data, err, typed)
	switch {
	case !possible:
		return merged, types.MergePatchType, ok
	case !ok || isApply(e) || w == nil || distance(w, strategic, after) <= distance(w, merged, after):
		return strategic, types.StrategicMergePatchType, true
	}
	return merged, types.MergePatchType, true
}

// builtIn returns an empty value of the Go type for an object, or nil for a custom resource.
func builtIn(object []byte) runtime.Object {
	var id identity
	if json.Unmarshal(object, &id) != nil {
		return nil
	}
	group, err := kubeschema.ParseGroupVersion(id.APIVersion)
	if err != nil {
		return nil
	}
	typed, err := scheme.Scheme.New(group.WithKind(id.Kind))
	if err != nil {
		return nil
	}
	return typed
}

// decoded decodes an object. Like the server, it drops fields that the Go type does not have.
// typed is nil for a custom resource. err is the error of the call that returned data. decoded
// returns false if err is not nil or decoding fails.
func decoded(data []byte, err error, typed runtime.Object) (map[string]any, bool) {
	if err != nil {
		return nil, false
	}
	if typed != nil {
		fresh := typed.DeepCopyObject()
		if err := json.Unmarshal(data, fresh); err != nil {
			return nil, false
		}
		if data, err = json.Marshal(fresh); err != nil {
			return nil, false
		}
	}
	out, err := asMap(data)
	return out, err == nil
}

// distance returns the number of fields in which two objects differ.
func distance(w *change.Walker, a, b map[string]any) int {
	set, err := w.Compare(change.All, a, b)
	if err != nil {
		return 1 << 30
	}
	return len(set)
}

// intersect returns old without the fields that after does not have. Elements of a list are
// matched by the list's map keys. An element of a set is kept only if after has an equal element.
// Other lists without map keys are kept whole if after has the list.
func intersect(old, after map[string]any, n *schema.Node) map[string]any {
	out := maps.Clone(old)
	for key, previous := range old {
		current, there := after[key]
		if !there {
			delete(out, key)
			continue
		}
		below := childNode(n, key)
		switch items := previous.(type) {
		case map[string]any:
			if next, ok := current.(map[string]any); ok {
				out[key] = intersect(items, next, below)
			}
		case []any:
			if list, ok := current.([]any); ok {
				out[key] = intersectLists(items, list, below)
			}
		}
	}
	return out
}

func intersectLists(old, after []any, n *schema.Node) []any {
	out := []any{}
	for _, previous := range old {
		switch element, keyed := previous.(map[string]any); {
		case n == nil || n.Kind != schema.ListMap || !keyed:
			if n == nil || n.Kind != schema.Set || contains(after, previous) {
				out = append(out, previous)
			}
		default:
			if current, ok := findElement(after, n, element).(map[string]any); ok {
				out = append(out, intersect(element, current, n.Elem()))
			}
		}
	}
	return out
}
