// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authorization/granular"
)

// TestOwnObject checks which part of what a caller sends to an endpoint counts as its own: the server stores the
// other part as it was.
func TestOwnObject(t *testing.T) {
	raw := func(spec, status any) map[string]any {
		out := map[string]any{"spec": spec}
		if status != nil {
			out["status"] = status
		}
		return out
	}
	for name, tc := range map[string]struct {
		subresource    string
		unknown, whole bool // the version of the request is not known, or has no status subresource
		old            runtime.Object
		sent, want     map[string]any
	}{
		"the object":                       {old: &unstructured.Unstructured{Object: raw("a", "s")}, sent: raw("b", "r"), want: raw("b", "s")},
		"the object, which had no status":  {old: &unstructured.Unstructured{Object: raw("a", nil)}, sent: raw("b", "r"), want: raw("b", nil)},
		"a new object":                     {sent: raw("b", "r"), want: raw("b", nil)},
		"an object without that endpoint":  {whole: true, old: &unstructured.Unstructured{Object: raw("a", "s")}, sent: raw("b", "r"), want: raw("b", "r")},
		"the status":                       {subresource: "status", old: &unstructured.Unstructured{Object: raw("a", "s")}, sent: raw("b", "r"), want: raw("a", "r")},
		"the status, which is removed":     {subresource: "status", old: &unstructured.Unstructured{Object: raw("a", "s")}, sent: raw("b", nil), want: raw("a", nil)},
		"the status of nothing":            {subresource: "status", sent: raw("b", "r"), want: raw("b", "r")},
		"the status of a typed object":     {subresource: "status", old: &autoscalingv1.Scale{}, sent: raw("b", "r"), want: raw("b", "r")},
		"another endpoint":                 {subresource: "scale", old: &unstructured.Unstructured{Object: raw("a", "s")}, sent: raw("b", "r"), want: raw("b", "r")},
		"a version that is not known":      {unknown: true, old: &unstructured.Unstructured{Object: raw("a", "s")}, sent: raw("b", "r"), want: raw("b", "r")},
		"the status of an unknown version": {unknown: true, subresource: "status", old: &unstructured.Unstructured{Object: raw("a", "s")}, sent: raw("b", "r"), want: raw("b", "r")},
	} {
		s := storedForm{}
		if !tc.unknown {
			s.through = &granular.StoredVersion{Status: !tc.whole}
		}
		sent := &unstructured.Unstructured{Object: tc.sent}
		before := sent.DeepCopy()
		got := s.ownObject(sent, tc.old, tc.subresource).(*unstructured.Unstructured)
		if !equality.Semantic.DeepEqual(got.Object, tc.want) || !equality.Semantic.DeepEqual(sent, before) {
			t.Errorf("%s: %v, want %v; what was sent is %v now", name, got.Object, tc.want, sent.Object)
		}
	}
	if scale := (&autoscalingv1.Scale{}); (&storedForm{through: &granular.StoredVersion{}}).ownObject(scale, nil, "") != runtime.Object(scale) {
		t.Error("a typed object is replaced")
	}
}

// TestExpectedOfAScale checks when the stored object is compared with the replicas that a scale writes: only if the
// object that is about to be stored, and the one of the request, have the same number there.
func TestExpectedOfAScale(t *testing.T) {
	specOf := func(size any) *unstructured.Unstructured {
		out := map[string]any{}
		if size != nil {
			out["size"] = size
		}
		return &unstructured.Unstructured{Object: map[string]any{"spec": out}}
	}
	path := []string{"spec", "size"}
	model := storedTarget(t, "", false)
	model.Kind = thingV2
	for name, tc := range map[string]struct {
		read, sent, old any
		unset           bool
		want            any
	}{
		"the same number":              {read: int64(2), sent: int64(2), old: int64(1), want: int64(2)},
		"no number was stored":         {read: int64(2), sent: int64(2), want: int64(2)},
		"a conversion changes it":      {read: int64(3), sent: int64(2), old: int64(1), want: int64(1)},
		"a conversion drops it":        {sent: int64(0), old: int64(1), want: int64(1)},
		"a conversion adds it":         {read: int64(0), old: int64(1), want: int64(1)},
		"neither has it":               {old: int64(1), want: int64(1)},
		"a text is about to be stored": {read: "x", sent: int64(0), old: int64(1), want: int64(1)},
		"a text is sent":               {read: int64(0), sent: "x", old: int64(1), want: int64(1)},
		"a text is stored":             {read: int64(2), sent: int64(2), old: "x", want: "x"},
		"the caller sends no replicas": {unset: true, read: int64(2), sent: int64(2), old: int64(1), want: int64(1)},
	} {
		w := &write{scale: &scale{path: path, set: !tc.unset}}
		j := &judgedVersion{version: &granular.StoredVersion{Replicas: path}, kind: kindOf(model), target: model, old: specOf(tc.old)}
		got, _, err := unstructured.NestedFieldNoCopy(w.expected(j, specOf(tc.read), specOf(tc.sent)).(*unstructured.Unstructured).Object, path...)
		if err != nil || got != tc.want {
			t.Errorf("%s: compared with %v, want %v, %v", name, got, tc.want, err)
		}
	}
}
