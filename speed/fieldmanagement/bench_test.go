// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldmanagement

import (
	"encoding/json"
	"fmt"
	"reflect"
	goruntime "runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

func usualPodSpec() corev1.PodSpec {
	yes, seconds := true, int64(30)
	s := corev1.PodSpec{NodeName: "n1", ServiceAccountName: "web", TerminationGracePeriodSeconds: &seconds,
		RestartPolicy: "Always", DNSPolicy: "ClusterFirst"}
	for i := range 3 {
		c := corev1.Container{Name: fmt.Sprintf("c%d", i), Image: "registry.example.com/app:v1", Command: []string{"/bin/app", "--flag"},
			Resources:       corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": resource.MustParse("500m"), "memory": resource.MustParse("1Gi")}},
			SecurityContext: &corev1.SecurityContext{RunAsNonRoot: &yes},
		}
		for j := range 10 {
			c.Env = append(c.Env, corev1.EnvVar{Name: fmt.Sprintf("VAR_%d", j), Value: "value"})
		}
		for j := range 4 {
			c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: fmt.Sprintf("v%d", j), MountPath: fmt.Sprintf("/mnt/%d", j)})
		}
		s.Containers = append(s.Containers, c)
	}
	for i := range 4 {
		s.Volumes = append(s.Volumes, corev1.Volume{Name: fmt.Sprintf("v%d", i), VolumeSource: corev1.VolumeSource{
			ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "cm"}}}})
	}
	return s
}

func usualMeta() metav1.ObjectMeta {
	m := metav1.ObjectMeta{Name: "web", Namespace: "default", UID: "u", ResourceVersion: "1", CreationTimestamp: metav1.Unix(1e9, 0),
		Labels: map[string]string{}, Annotations: map[string]string{}}
	for i := range 6 {
		m.Labels[fmt.Sprintf("example.com/l%d", i)] = "v"
		m.Annotations[fmt.Sprintf("example.com/a%d", i)] = "some longer value of an annotation"
	}
	return m
}

// benchWrite is an update to measure. One manager has created the live object.
type benchWrite struct {
	name   string
	write  write
	change func(runtime.Object)
}

func label(o runtime.Object) {
	switch o := o.(type) {
	case metav1.Object:
		l := o.GetLabels()
		l["example.com/l0"] = "other"
		o.SetLabels(l)
	}
}

func benchWrites(t testing.TB) []benchWrite {
	c := builtinConverter(t)
	pod := &corev1.Pod{ObjectMeta: usualMeta(), Spec: usualPodSpec()}
	for _, s := range []string{"Initialized", "Ready", "ContainersReady", "PodScheduled"} {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodConditionType(s), Status: "True", LastTransitionTime: metav1.Unix(1e9, 0)})
	}
	deployment := &appsv1.Deployment{ObjectMeta: usualMeta()}
	deployment.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	deployment.Spec.Template = corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec: usualPodSpec()}
	config := &corev1.ConfigMap{ObjectMeta: usualMeta(), Data: map[string]string{"a": "b", "c": "d", "e": "f"}}

	fields := map[string]spec.Schema{}
	content := map[string]any{}
	for i := range 300 {
		name := fmt.Sprintf("f%d", i)
		fields[name] = *spec.StringProperty()
		content[name] = "value"
	}
	widgets := widgetConverter(t, fields)
	meta := usualMeta()
	widget := &unstructured.Unstructured{Object: map[string]any{"spec": content}}
	widget.SetName(meta.Name)
	widget.SetUID(meta.UID)
	widget.SetLabels(meta.Labels)

	image := func(o runtime.Object) {
		switch o := o.(type) {
		case *corev1.Pod:
			o.Spec.Containers[2].Image = "other"
		case *appsv1.Deployment:
			o.Spec.Template.Spec.Containers[2].Image = "other"
		case *corev1.ConfigMap:
			o.Data["a"] = "other"
		case *unstructured.Unstructured:
			o.Object["spec"].(map[string]any)["f7"] = "other"
		}
	}
	var out []benchWrite
	for _, o := range []struct {
		name      string
		object    runtime.Object
		converter managedfields.TypeConverter
	}{{"v1/Pod", pod, c}, {"apps/v1/Deployment", deployment, c}, {"v1/ConfigMap", config, c},
		{"example.com/v1/Widget", widget, widgets}} {
		kind := kindNamed(o.name)
		o.object.GetObjectKind().SetGroupVersionKind(kind)
		w := write{converter: o.converter, kind: kind, new: o.object}
		whole, _ := managers(t, w.converter, kind, "", nil)
		empty, _ := creating{}.New(kind)
		live, err := whole.Update(empty, o.object.DeepCopyObject(), "creator")
		if err != nil {
			t.Fatal(err)
		}
		w.live = live
		created := w
		created.live = emptyLike(o.object)
		out = append(out, benchWrite{kind.Kind + " unchanged", w, func(runtime.Object) {}}, benchWrite{kind.Kind + " label", w, label},
			benchWrite{kind.Kind + " deep", w, image}, benchWrite{kind.Kind + " create", created, func(runtime.Object) {}})
	}
	return out
}

func emptyLike(o runtime.Object) runtime.Object {
	out := reflect.New(reflect.TypeOf(o).Elem()).Interface().(runtime.Object)
	if u, ok := out.(*unstructured.Unstructured); ok {
		u.Object = map[string]any{}
	}
	out.GetObjectKind().SetGroupVersionKind(o.GetObjectKind().GroupVersionKind())
	return out
}

func widgetConverter(t testing.TB, fields map[string]spec.Schema) managedfields.TypeConverter {
	models, err := definitions()
	if err != nil {
		t.Fatal(err)
	}
	const meta = "io.k8s.apimachinery.pkg.apis.meta.v1."
	root := spec.Schema{VendorExtensible: spec.VendorExtensible{Extensions: spec.Extensions{
		"x-kubernetes-group-version-kind": []any{map[string]any{"group": "example.com", "version": "v1", "kind": "Widget"}}}}}
	root.Type = spec.StringOrArray{"object"}
	root.Properties = map[string]spec.Schema{"apiVersion": *spec.StringProperty(), "kind": *spec.StringProperty(),
		"metadata": *spec.RefSchema("#/definitions/" + meta + "ObjectMeta"),
		"spec":     {SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"object"}, Properties: fields}}}
	named := map[string]*spec.Schema{"Widget": &root}
	for _, n := range []string{"ObjectMeta", "ManagedFieldsEntry", "OwnerReference", "Time", "FieldsV1"} {
		named[meta+n] = models[meta+n]
	}
	c, err := managedfields.NewTypeConverter(named, false)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// cpu returns the CPU time of this thread, which does not depend on what else the machine does.
func cpu(t testing.TB) time.Duration {
	ts := unix.Timespec{}
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		t.Fatal(err)
	}
	return time.Duration(ts.Nano())
}

// BenchmarkUpdate measures an update without and with pruning in turns, so that other load on
// the machine affects both alike. It reports the CPU time of both, and their ratio. The time
// does not include copying the objects.
func BenchmarkUpdate(b *testing.B) {
	for _, w := range benchWrites(b) {
		whole, prunes := managers(b, w.write.converter, w.write.kind, "", nil)
		changed := w.write.new.DeepCopyObject()
		if _, ok := changed.(*unstructured.Unstructured); !ok {
			again := emptyLike(changed) // decoded from JSON, like an object from a client
			data, err := json.Marshal(changed)
			if err != nil || json.Unmarshal(data, again) != nil {
				b.Fatal("no round trip")
			}
			changed = again
		}
		w.change(changed)
		b.Run(w.name, func(b *testing.B) {
			goruntime.LockOSThread()
			defer goruntime.UnlockOSThread()
			defer debug.SetGCPercent(debug.SetGCPercent(400))
			const block = 15
			var spent [2]time.Duration
			for b.Loop() {
				for side, f := range []manager{whole, prunes} {
					var news [block]runtime.Object
					for i := range news {
						news[i] = changed.DeepCopyObject()
					}
					start := cpu(b)
					for i := range news {
						if _, err := f.Update(w.write.live, news[i], "updater"); err != nil {
							b.Fatal(err)
						}
					}
					spent[side] += cpu(b) - start
				}
			}
			updates := float64(b.N * block)
			allocs := [2]float64{}
			for side, f := range []manager{whole, prunes} {
				copying := testing.AllocsPerRun(20, func() { changed.DeepCopyObject() })
				allocs[side] = testing.AllocsPerRun(20, func() { _, _ = f.Update(w.write.live, changed.DeepCopyObject(), "updater") }) - copying
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(spent[0].Nanoseconds())/updates, "ns/whole")
			b.ReportMetric(float64(spent[1].Nanoseconds())/updates, "ns/pruned")
			b.ReportMetric(float64(spent[1])/float64(spent[0]), "cpu-ratio")
			b.ReportMetric(allocs[0], "allocs/whole")
			b.ReportMetric(allocs[1], "allocs/pruned")
			b.ReportMetric(allocs[1]/allocs[0], "allocs-ratio")
		})
	}
}

// BenchmarkValidate measures, in the same way as BenchmarkUpdate, how long it takes to validate
// the managedFields of an object after admission. One manager has created the object.
func BenchmarkValidate(b *testing.B) {
	defer func() { decoding = false }()
	for _, w := range benchWrites(b) {
		kind, unchanged := strings.CutSuffix(w.name, " unchanged")
		if !unchanged {
			continue
		}
		m, err := meta.Accessor(w.write.live)
		if err != nil {
			b.Fatal(err)
		}
		entries := m.GetManagedFields()
		validate := func() {
			if err := managedfields.ValidateManagedFields(entries); err != nil {
				b.Fatal(err)
			}
		}
		b.Run(kind, func(b *testing.B) {
			goruntime.LockOSThread()
			defer goruntime.UnlockOSThread()
			defer debug.SetGCPercent(debug.SetGCPercent(400))
			const block = 100
			var spent [2]time.Duration
			var allocs [2]float64
			for b.Loop() {
				for side := range spent {
					decoding = side == 1
					start := cpu(b)
					for range block {
						validate()
					}
					spent[side] += cpu(b) - start
				}
			}
			for side := range allocs {
				decoding = side == 1
				allocs[side] = testing.AllocsPerRun(100, validate)
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(spent[0].Nanoseconds())/float64(b.N*block), "ns/decoded")
			b.ReportMetric(float64(spent[1].Nanoseconds())/float64(b.N*block), "ns/read")
			b.ReportMetric(float64(spent[1])/float64(spent[0]), "cpu-ratio")
			b.ReportMetric(allocs[0], "allocs/decoded")
			b.ReportMetric(allocs[1], "allocs/read")
		})
	}
}
