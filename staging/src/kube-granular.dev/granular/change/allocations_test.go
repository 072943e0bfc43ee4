// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// bigPod returns a pod of about the size that a service mesh makes it.
func bigPod() *corev1.Pod {
	yes, seconds := true, int64(30)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", UID: "u", Labels: map[string]string{},
			Annotations: map[string]string{}},
		Spec: corev1.PodSpec{NodeName: "n1", ServiceAccountName: "web", TerminationGracePeriodSeconds: &seconds},
	}
	for i := range 8 {
		pod.Labels[fmt.Sprintf("example.com/l%d", i)] = "v"
		pod.Annotations[fmt.Sprintf("example.com/a%d", i)] = "some longer value of an annotation"
	}
	for i := range 3 {
		c := corev1.Container{
			Name: fmt.Sprintf("c%d", i), Image: "registry.example.com/app:v1", Command: []string{"/bin/app", "--flag", "--other=1"},
			Resources: corev1.ResourceRequirements{
				Limits:   corev1.ResourceList{"cpu": resource.MustParse("500m"), "memory": resource.MustParse("1Gi")},
				Requests: corev1.ResourceList{"cpu": resource.MustParse("100m"), "memory": resource.MustParse("128Mi")},
			},
			SecurityContext: &corev1.SecurityContext{RunAsNonRoot: &yes,
				Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}},
		}
		for j := range 10 {
			c.Env = append(c.Env, corev1.EnvVar{Name: fmt.Sprintf("VAR_%d", j), Value: "value"})
		}
		for j := range 4 {
			c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: fmt.Sprintf("v%d", j), MountPath: fmt.Sprintf("/mnt/%d", j)})
		}
		pod.Spec.Containers = append(pod.Spec.Containers, c)
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{Name: c.Name, Ready: true, Image: c.Image})
	}
	for i := range 4 {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: fmt.Sprintf("v%d", i), VolumeSource: corev1.VolumeSource{
			ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "cm"}}}})
	}
	for _, c := range []string{"Initialized", "Ready", "ContainersReady", "PodScheduled"} {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodConditionType(c), Status: "True"})
	}
	return pod
}

func bigWidget() map[string]any {
	settings := map[string]any{}
	for i := range 100 {
		settings[fmt.Sprintf("s%d", i)] = map[string]any{"a": int64(i), "b": "value", "c": []any{"x", true}}
	}
	return map[string]any{
		"metadata": map[string]any{"name": "w", "labels": map[string]any{"a": "b"}},
		"spec":     map[string]any{"size": int64(1), "settings": settings, "guard": map[string]any{"mode": "a"}},
	}
}

func TestNoAllocationsWithoutChange(t *testing.T) {
	pods, widgets := walkerOf(t, "/v1/Pod"), walkerOf(t, "example.com/v1/Widget")
	a, b := bigPod(), bigPod()
	x, y := bigWidget(), bigWidget()
	for name, run := range map[string]func() Set{
		"pod, all":           func() Set { s, _ := pods.Compare(All, a, b); return s },
		"pod, excluded only": func() Set { s, _ := pods.Compare(ExcludedOnly, a, b); return s },
		"widget, full":       func() Set { s, _ := widgets.Compare(All, x, y); return s },
		"widget, sparse":     func() Set { s, _ := widgets.Compare(ExcludedOnly, x, y); return s },
	} {
		run() // compiles the plan, and puts a walk into the pool
		if set := run(); set != nil {
			t.Fatalf("%s: %v", name, verbs(set))
		}
		// With the race detector, a sync.Pool drops values at random.
		if n := testing.AllocsPerRun(100, func() { run() }); n > 0 && !raceDetector {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
