// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/pkg/apis/apps"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/events/install"

	"kube-granular.dev/api/authority/v1alpha1"
	"kube-granular.dev/pkg/delegation/policy"
)

var (
	deployments = schema.GroupResource{Group: "apps", Resource: "deployments"}
	pods        = schema.GroupResource{Resource: "pods"}
	things      = schema.GroupResource{Group: "example.com", Resource: "things"}
)

func stampsOf(r schema.GroupResource, neutral ...string) *policy.Policy {
	return policy.Compile(&v1alpha1.AuthorityDelegationPolicy{Spec: v1alpha1.AuthorityDelegationPolicySpec{Resource: v1alpha1.GroupResource(r), Neutral: neutral}})
}

func deployment() *apps.Deployment {
	out := &apps.Deployment{}
	out.Name, out.Namespace, out.UID = "d", "n", "u"
	out.Spec.Replicas = 1
	out.Spec.Template.Spec.Containers = []core.Container{{Name: "a", Image: "i"}, {Name: "b", Image: "j"}}
	return out
}

func thing(path ...string) *unstructured.Unstructured {
	out := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Thing", "spec": map[string]any{"size": int64(1)}}}
	if len(path) > 0 {
		_ = unstructured.SetNestedField(out.Object, "x", path...)
	}
	return out
}

// TestStoredAs checks that a policy can't name a resource by the second of its names.
func TestStoredAs(t *testing.T) {
	events, second := schema.GroupResource{Resource: "events"}, schema.GroupResource{Group: "events.k8s.io", Resource: "events"}
	first, otherFirst := policy.StoredAs(events)
	of, otherSecond := policy.StoredAs(second)
	if of != first {
		t.Errorf("%s is stored as %s, and %s as %s", events, first, second, of)
	}
	if otherFirst != (first != events) || otherSecond != (of != second) {
		t.Errorf("%s is stored as another: %t; %s: %t", events, otherFirst, second, otherSecond)
	}
	if event := policy.ResourceOf(&core.Event{}, second); event != first {
		t.Errorf("an event is of %s, want %s", event, first)
	}
	for _, r := range []schema.GroupResource{deployments, pods, things} {
		if of, other := policy.StoredAs(r); other {
			t.Errorf("%s is stored as %s", r, of)
		}
	}
}

// TestNeverStored checks that a policy can't name a resource whose objects are never stored, nor a kind
// that is served at other resources only.
func TestNeverStored(t *testing.T) {
	for _, tc := range []struct {
		group, resource string
		never           bool
	}{
		{"", "bindings", true},
		{"", "componentstatuses", true},
		{"authentication.k8s.io", "tokenreviews", true},
		{"authentication.k8s.io", "tokenrequests", true},
		{"authorization.k8s.io", "localsubjectaccessreviews", true},
		{"authorization.k8s.io", "subjectaccessreviews", true},
		{"policy", "evictions", true},
		{"autoscaling", "scales", true},
		{"apps", "deployment", true},
		{"apps", "deployments", false},
		{"", "pods", false},
		{"", "events", false},
		{"lifecycle.k8s.io", "evictions", false},
		{"policy", "poddisruptionbudgets", false},
		{"rbac.authorization.k8s.io", "rolebindings", false},
		{"example.com", "bindings", false},
	} {
		if why := policy.NeverStored(schema.GroupResource{Group: tc.group, Resource: tc.resource}); (why != "") != tc.never {
			t.Errorf("%s.%s: %q", tc.resource, tc.group, why)
		}
	}
}

// TestCaused checks which changes trigger a policy: all except changes of metadata, of status,
// and of the fields that are neutral by the policy.
func TestCaused(t *testing.T) {
	changed := func(change func(*apps.Deployment)) runtime.Object {
		d := deployment()
		change(d)
		return d
	}
	pod := &core.Pod{Spec: core.PodSpec{Containers: []core.Container{{Name: "c", Image: "i"}}}}
	bound, newer := pod.DeepCopy(), pod.DeepCopy()
	bound.Spec.NodeName, newer.Spec.Containers[0].Image = "node", "j"
	for name, tc := range map[string]struct {
		p        *policy.Policy
		new, old runtime.Object
		want     bool
	}{
		"created": {stampsOf(deployments, "replicas"), deployment(), nil, true},
		"nothing": {stampsOf(deployments), deployment(), deployment(), false},
		"labels": {stampsOf(deployments),
			changed(func(d *apps.Deployment) { d.Labels = map[string]string{"a": "b"} }), deployment(), false},
		"status": {stampsOf(deployments),
			changed(func(d *apps.Deployment) { d.Status.Replicas = 3 }), deployment(), false},
		"replicas": {stampsOf(deployments), changed(func(d *apps.Deployment) { d.Spec.Replicas = 3 }),
			deployment(), true},
		"neutral replicas": {stampsOf(deployments, "replicas"),
			changed(func(d *apps.Deployment) { d.Spec.Replicas = 3 }), deployment(), false},
		"replicas and more": {stampsOf(deployments, "replicas"),
			changed(func(d *apps.Deployment) { d.Spec.Replicas, d.Spec.Paused = 3, true }), deployment(), true},
		"image": {stampsOf(deployments, "replicas"),
			changed(func(d *apps.Deployment) { d.Spec.Template.Spec.Containers[1].Image = "x" }), deployment(), true},
		"neutral image": {stampsOf(deployments, "podTemplateImage"),
			changed(func(d *apps.Deployment) { d.Spec.Template.Spec.Containers[1].Image = "x" }), deployment(),
			false},
		"image and command": {stampsOf(deployments, "podTemplateImage"),
			changed(func(d *apps.Deployment) { d.Spec.Template.Spec.Containers[1].Command = []string{"x"} }),
			deployment(), true},
		"another container": {stampsOf(deployments, "podTemplateImage"),
			changed(func(d *apps.Deployment) { d.Spec.Template.Spec.Containers = d.Spec.Template.Spec.Containers[:1] }),
			deployment(), true},
		"rollback by annotation": {stampsOf(deployments, "replicas"),
			changed(func(d *apps.Deployment) { d.Spec.RollbackTo = &apps.RollbackConfig{Revision: 1} }), deployment(), true},
		"rollback by annotation ends": {stampsOf(deployments, "replicas"), deployment(),
			changed(func(d *apps.Deployment) { d.Spec.RollbackTo = &apps.RollbackConfig{Revision: 1} }), true},
		"another rollback beside the annotation of the first": {stampsOf(deployments, "replicas"),
			changed(func(d *apps.Deployment) {
				d.Annotations, d.Spec.RollbackTo = map[string]string{appsv1.DeprecatedRollbackTo: "1"}, &apps.RollbackConfig{Revision: 2}
			}), deployment(), true},
		"neutral replicas and an annotation": {stampsOf(deployments, "replicas"),
			changed(func(d *apps.Deployment) { d.Spec.Replicas, d.Annotations = 3, map[string]string{"a": "b"} }), deployment(), false},
		"bound":                 {stampsOf(pods, "nodeAssignment"), bound, pod, false},
		"bound, not neutral":    {stampsOf(pods, "replicas"), bound, pod, true},
		"image of a pod":        {stampsOf(pods, "nodeAssignment"), newer, pod, true},
		"custom, nothing":       {stampsOf(things, "replicas"), thing(), thing(), false},
		"custom, metadata":      {stampsOf(things, "replicas"), thing("metadata", "name"), thing(), false},
		"custom, status":        {stampsOf(things, "replicas"), thing("status", "a"), thing(), false},
		"custom, spec":          {stampsOf(things, "replicas"), thing("spec", "size"), thing(), true},
		"custom, more":          {stampsOf(things, "replicas"), thing("spec", "b"), thing(), true},
		"custom, root":          {stampsOf(things, "replicas"), thing("data"), thing(), true},
		"custom, gone":          {stampsOf(things, "replicas"), thing(), thing("data"), true},
		"custom, version moved": {stampsOf(things, "replicas"), thing("apiVersion"), thing(), false},
	} {
		t.Run(name, func(t *testing.T) {
			if err := tc.p.Err(); err != nil {
				t.Fatal(err)
			}
			before := tc.new.DeepCopyObject()
			if got := tc.p.TriggeredBy(tc.new, tc.old); got != tc.want {
				t.Errorf("caused: %v, wanted %v", got, tc.want)
			}
			if stampsOf(deployments).TriggeredBy(tc.new, before) {
				t.Error("the object was changed")
			}
		})
	}
}

// TestNeutral checks which permissions a policy may list as neutral, and that a policy which
// lists another one does not compile.
func TestNeutral(t *testing.T) {
	for _, tc := range []struct {
		permission string
		r          schema.GroupResource
		ok         bool
	}{
		{"replicas", deployments, true},
		{"replicas", pods, true},
		{"replicas", things, true},
		{"image", pods, true},
		{"image", deployments, false},
		{"image", things, false},
		{"finalizers", pods, false},
		{"nothing", pods, false},
		{"", pods, false},
	} {
		err := policy.ValidateNeutral([]string{tc.permission}, tc.r)[0]
		if (err == nil) != tc.ok {
			t.Errorf("%q of %s: %v", tc.permission, tc.r, err)
		}
		if broken := stampsOf(tc.r, tc.permission).Err(); (broken == nil) != tc.ok {
			t.Errorf("%q of %s: broken %v", tc.permission, tc.r, broken)
		}
	}
}

// TestStamps holds that ApplyTo replaces all stamps of the object's resource, and changes
// neither other annotations nor a map that another object shares.
func TestStamps(t *testing.T) {
	d := deployment()
	own, foreign := policy.Prefix(deployments), policy.Prefix(pods)
	d.Annotations = map[string]string{own + "forged": "x", foreign + "p": "copied", "a": "b"}
	shared := d.Annotations
	stamps := policy.Stamps{"p": policy.Stamp("by-policy-1", "u-1")}
	if err := stamps.ApplyTo(d, deployments); err != nil {
		t.Fatal(err)
	}
	if len(d.Annotations) != 3 || d.Annotations[own+"p"] != stamps["p"] || d.Annotations[foreign+"p"] != "copied" || d.Annotations["a"] != "b" {
		t.Errorf("annotations %v", d.Annotations)
	}
	if len(shared) != 3 || shared[own+"forged"] != "x" {
		t.Errorf("what is shared became %v", shared)
	}
	if got := policy.StampsOf(d, deployments).UIDs(); len(got) != 1 || got[0] != "u-1" {
		t.Errorf("named %v", got)
	}
	if err := policy.Stamps(nil).ApplyTo(d, deployments); err != nil || len(policy.StampsOf(d, deployments)) != 0 {
		t.Errorf("%v: %v", err, d.Annotations)
	}
	d.Annotations = map[string]string{own + "forged": "x"}
	if err := policy.Stamps(nil).ApplyTo(d, deployments); err != nil || d.Annotations != nil {
		t.Errorf("without its only annotation: %v: %v", err, d.Annotations)
	}
	d.Annotations = nil
	if err := stamps.ApplyTo(d, deployments); err != nil || len(d.Annotations) != 1 {
		t.Errorf("without annotations: %v: %v", err, d.Annotations)
	}
	d.Annotations = nil
	if err := policy.Stamps(nil).ApplyTo(d, deployments); err != nil || d.Annotations != nil {
		t.Errorf("%v: %v", err, d.Annotations)
	}
}

// TestStampThatDoesNotFit checks that an object whose annotations leave no room for a stamp is
// refused, and one with room for it is not.
func TestStampThatDoesNotFit(t *testing.T) {
	stamps := policy.Stamps{"p": policy.Stamp("by-policy-1", "u-1")}
	size := len(policy.Prefix(deployments)+"p") + len(stamps["p"])
	for room, fits := range map[int]bool{size: true, size - 1: false} {
		d := deployment()
		d.Annotations = map[string]string{"a": strings.Repeat("x", validation.TotalAnnotationSizeLimitB-1-room)}
		err := stamps.ApplyTo(d, deployments)
		if fits != (err == nil) || !fits && (!apierrors.IsRequestEntityTooLargeError(err) || len(d.Annotations) != 1) {
			t.Errorf("with room for %d of %d bytes: %v", room, size, err)
		}
	}
	d := deployment()
	d.Annotations = map[string]string{policy.Prefix(deployments) + "p": "x", "a": strings.Repeat("x", validation.TotalAnnotationSizeLimitB)}
	if err := policy.Stamps(nil).ApplyTo(d, deployments); err != nil || len(d.Annotations) != 1 {
		t.Errorf("a stamp is not removed from an object that is too large anyway: %v", err)
	}
}

// TestResourceOf holds that the resource of a built-in object follows from its type, whatever
// resource was requested.
func TestResourceOf(t *testing.T) {
	bindings := schema.GroupResource{Resource: "bindings"}
	for _, tc := range []struct {
		obj  runtime.Object
		want schema.GroupResource
	}{{&core.Pod{}, pods}, {deployment(), deployments}, {thing(), bindings}} {
		if got := policy.ResourceOf(tc.obj, bindings); got != tc.want {
			t.Errorf("%T: %s, wanted %s", tc.obj, got, tc.want)
		}
	}
}
