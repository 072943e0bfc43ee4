// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	group = "bench.example.com"
	// The custom resource has 300 fields, which are divided into sections, because upstream's time
	// for validating an update grows with the square of the number of fields in one object.
	widgetSections, widgetFields = 20, 15
)

func named(name string) metav1.ObjectMeta {
	m := metav1.ObjectMeta{Name: name, Labels: map[string]string{}, Annotations: map[string]string{}}
	for i := range 6 {
		m.Labels[fmt.Sprintf("example.com/l%d", i)] = "v"
		m.Annotations[fmt.Sprintf("example.com/a%d", i)] = "some longer value of an annotation"
	}
	return m
}

// podSpec returns a pod spec of a usual size: three containers with ten variables each.
func podSpec() corev1.PodSpec {
	s := corev1.PodSpec{}
	for i := range 3 {
		c := corev1.Container{Name: fmt.Sprintf("c%d", i), Image: "registry.example.com/app:v1",
			Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": resource.MustParse("500m"), "memory": resource.MustParse("1Gi")}}}
		for j := range 10 {
			c.Env = append(c.Env, corev1.EnvVar{Name: fmt.Sprintf("VAR_%d", j), Value: "value"})
		}
		for j := range 4 {
			c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: fmt.Sprintf("v%d", j), MountPath: fmt.Sprintf("/mnt/%d", j)})
		}
		s.Containers = append(s.Containers, c)
	}
	for j := range 4 {
		s.Volumes = append(s.Volumes, corev1.Volume{Name: fmt.Sprintf("v%d", j), VolumeSource: corev1.VolumeSource{
			ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}}})
	}
	return s
}

func pod(name string) metav1.Object {
	return &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: named(name), Spec: podSpec()}
}

func deployment(name string) metav1.Object {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}, ObjectMeta: named(name), Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: podSpec()},
	}}
}

func configMap(name string) metav1.Object {
	return &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: named(name),
		Data: map[string]string{"a": "b", "c": "d", "e": "f"}}
}

func widget(name string) metav1.Object {
	return custom("Widget", name, sections(func() any { return "value" }, func(fields map[string]any) any { return fields }))
}

// sections returns a map of sections. field makes each value of a section, and section wraps the
// map of these values.
func sections(field func() any, section func(map[string]any) any) map[string]any {
	out := map[string]any{}
	for i := range widgetSections {
		fields := map[string]any{}
		for j := range widgetFields {
			fields[fmt.Sprintf("f%d", j)] = field()
		}
		out[fmt.Sprintf("s%d", i)] = section(fields)
	}
	return out
}

func custom(kind, name string, spec map[string]any) metav1.Object {
	meta := named(name)
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": group + "/v1", "kind": kind, "spec": spec}}
	o.SetName(name)
	o.SetLabels(meta.Labels)
	o.SetAnnotations(meta.Annotations)
	return o
}

// definition returns a CustomResourceDefinition with a schema for spec.
func definition(kind, plural string, spec map[string]any) map[string]any {
	return map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": plural + "." + group},
		"spec": map[string]any{
			"group": group, "scope": "Namespaced",
			"names": map[string]any{"plural": plural, "kind": kind},
			"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{
				"openAPIV3Schema": map[string]any{"type": "object", "properties": map[string]any{"spec": spec}}}}},
		},
	}
}

func widgetDefinition() map[string]any {
	object := func(properties map[string]any) any { return map[string]any{"type": "object", "properties": properties} }
	fields := sections(func() any { return map[string]any{"type": "string"} }, object)
	return definition("Widget", "widgets", map[string]any{"type": "object", "properties": fields})
}

// set sets a string at a path in nested maps, and creates missing maps.
func set(object map[string]any, value string, path ...string) {
	for _, name := range path[:len(path)-1] {
		below, ok := object[name].(map[string]any)
		if !ok {
			below = map[string]any{}
			object[name] = below
		}
		object = below
	}
	object[path[len(path)-1]] = value
}
