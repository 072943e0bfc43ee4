// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/pkg/apis/core"

	"kube-granular.dev/api/authority/v1alpha1"
)

// TestRemove holds which fields a path removes from a value, and that it leaves the others.
func TestRemove(t *testing.T) {
	object := func() map[string]any {
		return map[string]any{
			"spec": map[string]any{
				"size":  int64(1),
				"list":  []any{map[string]any{"a": "x", "b": "y"}, map[string]any{"a": "z"}},
				"map":   map[string]any{"k": map[string]any{"a": "x"}, "l": map[string]any{"b": "y"}},
				"plain": []any{"p", "q"},
			},
		}
	}
	type fields = map[string]any
	for path, change := range map[string]func(spec fields){
		".spec.size":        func(spec fields) { delete(spec, "size") },
		".spec.none":        func(fields) {},
		".spec.size.deeper": func(fields) {},
		".none.size":        func(fields) {},
		".spec.list":        func(spec fields) { delete(spec, "list") },
		".spec.list[*].a": func(spec fields) {
			delete(spec["list"].([]any)[0].(fields), "a")
			delete(spec["list"].([]any)[1].(fields), "a")
		},
		".spec.list[*].none": func(fields) {},
		".spec.list.a":       func(fields) {},
		".spec.list[*]":      func(spec fields) { spec["list"] = []any{nil, nil} },
		".spec.plain[*]":     func(spec fields) { spec["plain"] = []any{nil, nil} },
		".spec.plain[*].a":   func(fields) {},
		".spec.map[*].a":     func(spec fields) { delete(spec["map"].(fields)["k"].(fields), "a") },
		".spec.map[*]":       func(spec fields) { spec["map"] = fields{} },
		".spec.map.k":        func(spec fields) { delete(spec["map"].(fields), "k") },
	} {
		got, want := object(), object()
		parse(path).remove(got)
		change(want["spec"].(fields))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
	got := object()
	fieldPath(nil).remove(got)
	if diff := cmp.Diff(object(), got); diff != "" {
		t.Errorf("no path (-want +got):\n%s", diff)
	}
}

// TestOtherTypes holds that objects of different types differ, and that one whose content can't be
// compared field by field triggers a policy.
func TestOtherTypes(t *testing.T) {
	custom := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Thing"}}
	unknown := func(a string) runtime.Object {
		return &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{Kind: a}}
	}
	neutral := Compile(&v1alpha1.AuthorityDelegationPolicy{Spec: v1alpha1.AuthorityDelegationPolicySpec{
		Resource: v1alpha1.GroupResource{Resource: "pods"}, Neutral: []string{"replicas"},
	}})
	for name, tc := range map[string]struct {
		newObj, oldObj runtime.Object
		want           bool
	}{
		"the same":                  {&core.Pod{}, &core.Pod{}, false},
		"custom, of a known type":   {custom, &core.Pod{}, true},
		"known, of a custom one":    {&core.Pod{}, custom, true},
		"of two known types":        {&core.Pod{}, &core.Secret{}, true},
		"of an unknown type":        {unknown("a"), unknown("a"), false},
		"what has no known version": {&unregistered{Field: "a"}, &unregistered{Field: "b"}, true},
	} {
		if got := neutral.TriggeredBy(tc.newObj, tc.oldObj); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
	image := Compile(&v1alpha1.AuthorityDelegationPolicy{Spec: v1alpha1.AuthorityDelegationPolicySpec{
		Resource: v1alpha1.GroupResource{Resource: "pods"}, Neutral: []string{"image"},
	}})
	for name, objects := range map[string][2]runtime.Object{
		"the old one has no known version": {&core.Pod{}, &unregistered{Field: "a"}},
		"the new one has no known version": {&unregistered{Field: "a"}, &core.Pod{}},
	} {
		if image.Err() != nil || len(image.neutral) == 0 || !image.TriggeredBy(objects[0], objects[1]) {
			t.Errorf("%s, and it triggers nothing: %v", name, image.Err())
		}
	}
}

// unregistered is a kind that is in no scheme.
type unregistered struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Field string
}

func (u *unregistered) DeepCopyObject() runtime.Object { out := *u; return &out }

// TestSelects holds to which namespaces a policy applies, and that one with a wrong selector can't
// be used.
func TestSelects(t *testing.T) {
	compiled := func(selector *metav1.LabelSelector, neutral ...string) *Policy {
		return Compile(&v1alpha1.AuthorityDelegationPolicy{Spec: v1alpha1.AuthorityDelegationPolicySpec{
			Resource: v1alpha1.GroupResource{Group: "apps", Resource: "deployments"}, NamespaceSelector: selector, Neutral: neutral,
		}})
	}
	team := &metav1.LabelSelector{MatchLabels: map[string]string{"team": "x"}}
	for name, tc := range map[string]struct {
		selector *metav1.LabelSelector
		labels   labels.Set
		want     bool
	}{
		"all":              {nil, nil, true},
		"by label":         {team, labels.Set{"team": "x"}, true},
		"by another label": {team, labels.Set{"team": "y"}, false},
		"without labels":   {team, nil, false},
		"selects all":      {&metav1.LabelSelector{}, nil, true},
	} {
		p := compiled(tc.selector)
		if p.Err() != nil || p.Selects(tc.labels) != tc.want || p.SelectsByLabels() != (tc.selector != nil) {
			t.Errorf("%s: %v, by labels: %v, error %v", name, p.Selects(tc.labels), p.SelectsByLabels(), p.Err())
		}
	}
	wrong := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}
	selector := compiled(wrong).Err()
	if selector == nil {
		t.Error("a wrong selector compiles")
	}
	if err := compiled(wrong, "nothing").Err(); err == nil || err.Error() != selector.Error() {
		t.Errorf("the first error is %v, want %v", err, selector)
	}
	for _, permission := range []string{"nothing", "example.com/replicas"} { // the second could be that of a FieldPermission
		if err := compiled(nil, permission, "replicas").Err(); err == nil {
			t.Errorf("%s is not neutral, and compiles", permission)
		}
	}
	deleted := ForDeleted(schema.GroupResource{Group: "apps", Resource: "deployments"})
	if deleted.Err() != nil || deleted.Resource.String() != "deployments.apps" || len(deleted.neutral) == 0 {
		t.Errorf("in place of a deleted one: %+v", deleted)
	}
}

// TestNoStamps holds that an object without metadata has no stamps and gets none.
func TestNoStamps(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	none := &metav1.Status{}
	if got := StampsOf(none, pods); got != nil {
		t.Errorf("stamps %v", got)
	}
	if err := (Stamps{"p": "x"}).ApplyTo(none, pods); err == nil {
		t.Error("an object without metadata has a stamp")
	}
	pod := &core.Pod{}
	pod.Annotations = map[string]string{"a": "b"}
	if got := StampsOf(pod, pods); got != nil {
		t.Errorf("stamps %v", got)
	}
	if got := (Stamps{"p": "nonsense"}).UIDs(); len(got) != 0 {
		t.Errorf("a stamp that can't be read names %v", got)
	}
}
