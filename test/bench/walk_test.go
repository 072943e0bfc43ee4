// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"encoding/json"
	"fmt"
	"reflect"
	goruntime "runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	gvkschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/schema"
	"kube-granular.dev/pkg/modelstest"
)

func cpu(t testing.TB) time.Duration {
	ts := unix.Timespec{}
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		t.Fatal(err)
	}
	return time.Duration(ts.Nano())
}

func named() metav1.ObjectMeta {
	m := metav1.ObjectMeta{Name: "web", Namespace: "default", UID: "u", Labels: map[string]string{},
		Annotations: map[string]string{}}
	for i := range 8 {
		m.Labels[fmt.Sprintf("example.com/l%d", i)] = "v"
		m.Annotations[fmt.Sprintf("example.com/a%d", i)] = "some longer value of an annotation"
	}
	return m
}

func podSpec() corev1.PodSpec {
	s := corev1.PodSpec{NodeName: "n1", ServiceAccountName: "web"}
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
	return s
}

// kind is a kind of objects, with a function that makes an object, and a function that changes a
// deeply nested field of it.
type kind struct {
	name, group, model string
	make               func() runtime.Object
	deep               func(runtime.Object)
}

func (k kind) kind() string { return k.model[strings.LastIndex(k.model, ".")+1:] }

func kinds() []kind {
	pod := func() runtime.Object {
		p := &corev1.Pod{ObjectMeta: named(), Spec: podSpec()}
		for _, s := range []string{"Initialized", "Ready", "ContainersReady", "PodScheduled"} {
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodConditionType(s), Status: "True"})
		}
		return p
	}
	podDeep := func(o runtime.Object) { o.(*corev1.Pod).Spec.Containers[2].Env[9].Value = "other" }
	config := func(values, size int) func() runtime.Object {
		return func() runtime.Object {
			c := &corev1.ConfigMap{ObjectMeta: named(), Data: map[string]string{}}
			for i := range values {
				c.Data[fmt.Sprintf("k%d", i)] = strings.Repeat("x", size)
			}
			return c
		}
	}
	configDeep := func(o runtime.Object) { o.(*corev1.ConfigMap).Data["k0"] = "other" }
	const core, apps = "io.k8s.api.core.v1.", "io.k8s.api.apps.v1."
	return []kind{
		{"ConfigMap", "", core + "ConfigMap", config(3, 20), configDeep},
		{"ConfigMap1MB", "", core + "ConfigMap", config(16, 1<<16), configDeep},
		{"Pod", "", core + "Pod", pod, podDeep},
		{"Pod200Labels", "", core + "Pod", func() runtime.Object {
			p := pod().(*corev1.Pod)
			for i := range 192 {
				p.Labels[fmt.Sprintf("other.example.com/l%d", i)] = "v"
			}
			return p
		}, podDeep},
		{"Deployment", "apps", apps + "Deployment", func() runtime.Object {
			return &appsv1.Deployment{ObjectMeta: named(),
				Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: podSpec()}}}
		}, func(o runtime.Object) { o.(*appsv1.Deployment).Spec.Template.Spec.Containers[2].Env[9].Value = "other" }},
		{"NodeLargeStatus", "", core + "Node", func() runtime.Object {
			n := &corev1.Node{ObjectMeta: named()}
			for i := range 100 {
				n.Status.Images = append(n.Status.Images, corev1.ContainerImage{Names: []string{fmt.Sprintf("registry.example.com/i%d:v1", i)}, SizeBytes: int64(i)})
			}
			return n
		}, func(o runtime.Object) { o.(*corev1.Node).Status.Images[99].SizeBytes = 7 }},
		{"Widget300", "example.com", "Widget", func() runtime.Object {
			fields := map[string]any{}
			for i := range 300 {
				fields[fmt.Sprintf("f%d", i)] = "value"
			}
			return widgetOf(fields)
		}, func(o runtime.Object) { o.(*unstructured.Unstructured).Object["spec"].(map[string]any)["f7"] = "other" }},
		{"Fleet300", "example.com", "Fleet", func() runtime.Object {
			// Like a typical custom resource that configures a workload: a list of 20 elements, each
			// with eight strings, two numbers, a boolean, and two objects with one string each.
			var members []any
			for i := range 20 {
				member := map[string]any{"name": fmt.Sprintf("m%d", i), "replicas": int64(3), "port": int64(8080), "enabled": true,
					"limits": map[string]any{"cpu": "500m"}, "selector": map[string]any{"app": "web"}}
				for j := range 7 {
					member[fmt.Sprintf("f%d", j)] = "value"
				}
				members = append(members, member)
			}
			return widgetOf(map[string]any{"members": members})
		}, func(o runtime.Object) {
			o.(*unstructured.Unstructured).Object["spec"].(map[string]any)["members"].([]any)[19].(map[string]any)["f6"] = "other"
		}},
	}
}

func widgetOf(fields map[string]any) runtime.Object {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": fields}}
	m := named()
	u.SetName(m.Name)
	u.SetLabels(m.Labels)
	return u
}

// customResources adds the OpenAPI models of the custom resources Widget and Fleet.
func customResources(all map[string]*spec.Schema) {
	object := func(fields map[string]spec.Schema) spec.Schema {
		return spec.Schema{SchemaProps: spec.SchemaProps{Type: spec.StringOrArray{"object"}, Properties: fields}}
	}
	resource := func(spec0 spec.Schema) *spec.Schema {
		out := object(map[string]spec.Schema{"apiVersion": *spec.StringProperty(), "kind": *spec.StringProperty(),
			"metadata": *spec.RefSchema("#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"), "spec": spec0})
		return &out
	}
	fields := map[string]spec.Schema{}
	for i := range 300 {
		fields[fmt.Sprintf("f%d", i)] = *spec.StringProperty()
	}
	all["Widget"] = resource(object(fields))
	one := func(name string) spec.Schema { return object(map[string]spec.Schema{name: *spec.StringProperty()}) }
	member := map[string]spec.Schema{"name": *spec.StringProperty(), "replicas": *spec.Int64Property(), "port": *spec.Int64Property(),
		"enabled": *spec.BoolProperty(), "limits": one("cpu"), "selector": one("app")}
	for i := range 7 {
		member[fmt.Sprintf("f%d", i)] = *spec.StringProperty()
	}
	of := object(member)
	all["Fleet"] = resource(object(map[string]spec.Schema{"members": *spec.ArrayProperty(&of)}))
}

// side is a way to compare two objects. It runs several times in each turn.
type side struct {
	name   string
	rounds int
	run    func()
}

// received returns a copy of an object as a server receives it: decoded from JSON, so that it shares
// no memory, not even strings, with another object.
func received(b *testing.B, o runtime.Object, kind gvkschema.GroupVersionKind) runtime.Object {
	o.GetObjectKind().SetGroupVersionKind(kind)
	text, err := json.Marshal(o)
	if err != nil {
		b.Fatal(err)
	}
	out := reflect.New(reflect.TypeOf(o).Elem()).Interface().(runtime.Object)
	if err := json.Unmarshal(text, out); err != nil {
		b.Fatal(err)
	}
	return out
}

// BenchmarkWalk compares the change walk with three existing ways to find out whether or where two
// objects differ. Each turn runs all of them.
func BenchmarkWalk(b *testing.B) {
	all := modelstest.BuiltIn()
	customResources(all)
	for _, k := range kinds() {
		// In a server, the published models have this extension.
		all[k.model].AddExtension("x-kubernetes-group-version-kind", []any{map[string]any{"group": k.group, "version": "v1", "kind": k.kind()}})
	}
	converter, err := managedfields.NewTypeConverter(all, false)
	if err != nil {
		b.Fatal(err)
	}
	for _, k := range kinds() {
		tree, err := schema.Compile(all, k.model)
		if err != nil {
			b.Fatal(err)
		}
		walker := change.NewWalker(tree)
		gvk := gvkschema.GroupVersionKind{Group: k.group, Version: "v1", Kind: k.kind()}
		old := received(b, k.make(), gvk)
		for _, c := range []struct {
			name   string
			change func(runtime.Object)
		}{
			{"unchanged", func(runtime.Object) {}},
			{"label", func(o runtime.Object) {
				m := o.(metav1.Object)
				l := m.GetLabels()
				l["example.com/l0"] = "other"
				m.SetLabels(l)
			}},
			{"deep", k.deep},
		} {
			after := received(b, k.make(), gvk)
			c.change(after)
			convert := func(o runtime.Object) *typed.TypedValue {
				v, err := converter.ObjectToTyped(o, typed.AllowDuplicates)
				if err != nil {
					b.Fatal(err)
				}
				return v
			}
			sides := []side{
				{"full", 100, func() { found(b, walker, change.All, old, after, c.name != "unchanged") }},
				{"sparse", 100, func() {
					if _, err := walker.Compare(change.ExcludedOnly, old, after); err != nil {
						b.Fatal(err)
					}
				}},
				{"DeepEqual", 20, func() { reflect.DeepEqual(old, after) }},
				{"Semantic", 10, func() { equality.Semantic.DeepEqual(old, after) }},
				{"Compare", 2, func() {
					if _, err := convert(old).Compare(convert(after)); err != nil {
						b.Fatal(err)
					}
				}},
			}
			b.Run(k.name+"/"+c.name, func(b *testing.B) {
				spent := inTurns(b, sides)
				for i, s := range sides[2:] {
					b.ReportMetric(float64(spent[i+2])/float64(spent[0]), "x/"+s.name)
				}
				b.ReportMetric(testing.AllocsPerRun(50, sides[0].run), "allocs/full")
			})
		}
	}
}

// inTurns runs all sides in each turn of a benchmark. It reports the CPU time of one comparison by
// each side, as the mean over all turns, and returns the sums over all turns.
func inTurns(b *testing.B, sides []side) []time.Duration {
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	spent := make([]time.Duration, len(sides))
	for b.Loop() {
		for i, s := range sides {
			start := cpu(b)
			for range s.rounds {
				s.run()
			}
			spent[i] += (cpu(b) - start) / time.Duration(s.rounds)
		}
	}
	b.ReportMetric(0, "ns/op")
	for i, s := range sides {
		b.ReportMetric(float64(spent[i].Nanoseconds())/float64(b.N), "ns/"+s.name)
	}
	return spent
}

func found(b *testing.B, w *change.Walker, mode change.Mode, old, after runtime.Object, want bool) {
	set, err := w.Compare(mode, old, after)
	if err != nil {
		b.Fatal(err)
	}
	if len(set) > 0 != want {
		b.Fatalf("found %d changes", len(set))
	}
}
