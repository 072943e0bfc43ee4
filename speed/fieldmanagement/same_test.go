// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldmanagement

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

var (
	rounds    = flag.Int("pairs", 3000, "how many random pairs of objects to compare")
	firstSeed = flag.Uint64("seed", 1, "the first seed")
)

// typedKinds are kinds that together have all sorts of lists, maps and unusual types.
var typedKinds = map[string]func() runtime.Object{
	"v1/Pod":                     func() runtime.Object { return &corev1.Pod{} },
	"v1/ConfigMap":               func() runtime.Object { return &corev1.ConfigMap{} },
	"v1/Secret":                  func() runtime.Object { return &corev1.Secret{} },
	"v1/Node":                    func() runtime.Object { return &corev1.Node{} },
	"v1/Service":                 func() runtime.Object { return &corev1.Service{} },
	"v1/Event":                   func() runtime.Object { return &corev1.Event{} },
	"v1/PersistentVolumeClaim":   func() runtime.Object { return &corev1.PersistentVolumeClaim{} },
	"apps/v1/Deployment":         func() runtime.Object { return &appsv1.Deployment{} },
	"apps/v1/ControllerRevision": func() runtime.Object { return &appsv1.ControllerRevision{} },
	"autoscaling/v2/HorizontalPodAutoscaler": func() runtime.Object {
		return &autoscalingv2.HorizontalPodAutoscaler{}
	},
	"networking.k8s.io/v1/NetworkPolicy":       func() runtime.Object { return &networkingv1.NetworkPolicy{} },
	"networking.k8s.io/v1/Ingress":             func() runtime.Object { return &networkingv1.Ingress{} },
	"rbac.authorization.k8s.io/v1/RoleBinding": func() runtime.Object { return &rbacv1.RoleBinding{} },
}

func kindNamed(name string) schema.GroupVersionKind {
	dir, kind := name[:bytes.LastIndexByte([]byte(name), '/')], name[bytes.LastIndexByte([]byte(name), '/')+1:]
	return schema.FromAPIVersionAndKind(dir, kind)
}

// write is one update, which is made twice: with and without pruning.
type write struct {
	converter managedfields.TypeConverter
	kind      schema.GroupVersionKind
	sub       string
	reset     map[fieldpath.APIVersion]fieldpath.Filter
	live, new runtime.Object
}

func typedWrite(t testing.TB, r *rand.Rand) write {
	names := []string{"v1/Pod", "apps/v1/Deployment"}
	for name := range typedKinds {
		names = append(names, name)
	}
	slices.Sort(names[2:])
	name := names[r.IntN(len(names))]
	w := write{converter: builtinConverter(t), kind: kindNamed(name)}
	w.live = typedKinds[name]()
	fillTyped(r, reflect.ValueOf(w.live).Elem(), 0)
	oddTyped(r, w.live)
	w.live.GetObjectKind().SetGroupVersionKind(w.kind)
	w.new = w.live.DeepCopyObject()
	if r.IntN(3) == 0 { // decoded from JSON, as from a client: equal, but represented differently
		again := typedKinds[name]()
		if data, err := json.Marshal(w.live); err == nil && json.Unmarshal(data, again) == nil {
			w.new = again
		}
	}
	mutateTyped(r, w.new)
	if m, err := meta.Accessor(w.new); err == nil && r.IntN(3) == 0 && len(m.GetLabels()) > 0 {
		labels := editedMap(r, reflect.ValueOf(m.GetLabels())).Interface()
		m.SetLabels(labels.(map[string]string))
	}
	return w
}

func plainWrite(t testing.TB, r *rand.Rand) write {
	w := write{kind: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}}
	models, err := definitions()
	if err != nil {
		t.Fatal(err)
	}
	const meta = "io.k8s.apimachinery.pkg.apis.meta.v1."
	root := spec.Schema{VendorExtensible: spec.VendorExtensible{Extensions: spec.Extensions{
		"x-kubernetes-group-version-kind": []any{
			map[string]any{"group": "example.com", "version": "v1", "kind": "Widget"},
			map[string]any{"group": "example.com", "version": "v2", "kind": "Widget"},
		}}}}
	root.Type = spec.StringOrArray{"object"}
	root.Properties = map[string]spec.Schema{"apiVersion": *spec.StringProperty(), "kind": *spec.StringProperty(),
		"metadata": *spec.RefSchema("#/definitions/" + meta + "ObjectMeta"), "spec": randomSchema(r, 4), "status": randomSchema(r, 3)}
	if r.IntN(8) == 0 {
		root.Properties["metadata"] = *spec.MapProperty(nil)
	}
	named := map[string]*spec.Schema{"Widget": &root}
	for _, n := range []string{"ObjectMeta", "ManagedFieldsEntry", "OwnerReference", "Time", "FieldsV1"} {
		named[meta+n] = models[meta+n]
	}
	if w.converter, err = managedfields.NewTypeConverter(named, r.IntN(3) == 0); err != nil {
		t.Fatal(err)
	}
	if r.IntN(8) == 0 {
		w.converter = managedfields.NewDeducedTypeConverter()
	}
	content := map[string]any{"metadata": map[string]any{"name": "w", "labels": map[string]any{"a": "b"}, "finalizers": []any{"x"}}}
	for _, part := range []string{"spec", "status"} {
		if s := root.Properties[part]; r.IntN(8) > 0 {
			content[part] = randomValue(r, &s, 0)
		}
	}
	live := &unstructured.Unstructured{Object: content}
	live.SetGroupVersionKind(w.kind)
	after, _ := mutatePlain(r, content, &root, 15+r.IntN(60)).(map[string]any)
	if m, ok := after["metadata"].(map[string]any); !ok || m == nil {
		after = map[string]any{"metadata": map[string]any{"name": "w"}}
	}
	changed := &unstructured.Unstructured{Object: after}
	changed.SetGroupVersionKind(w.kind)
	w.live, w.new = live, changed
	return w
}

// own returns managedFields that distribute the fields of an object to several managers. Some
// also own fields that the object does not have, and a few have another version or an invalid
// set.
func own(r *rand.Rand, w *write) []metav1.ManagedFieldsEntry {
	fields := fieldsOf(w)
	var out []metav1.ManagedFieldsEntry
	count := r.IntN(4)
	if r.IntN(30) == 0 {
		count = 18 // upstream keeps fewer entries
	}
	for i := range count {
		set := fieldpath.NewSet()
		share := 1 + r.IntN(3)
		fields.Iterate(func(p fieldpath.Path) {
			if r.IntN(share) == 0 {
				set.Insert(p.Copy())
			}
			if r.IntN(8) == 0 {
				set.Insert(p[:len(p)-1].Copy())
			}
		})
		if r.IntN(6) == 0 {
			set.Insert(fieldpath.MakePathOrDie("metadata", "managedFields"))
		}
		if r.IntN(6) == 0 {
			set.Insert(fieldpath.MakePathOrDie("spec", "gone", "deeper"))
		}
		data, err := set.ToJSON()
		if err != nil {
			continue
		}
		e := metav1.ManagedFieldsEntry{Manager: fmt.Sprintf("m%d", i), Operation: metav1.ManagedFieldsOperationUpdate,
			APIVersion: w.kind.GroupVersion().String(), FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(string(data))}
		at := metav1.NewTime(time.Unix(1e9, 0).UTC())
		e.Time = &at
		if r.IntN(3) == 0 {
			e.Operation = metav1.ManagedFieldsOperationApply
		}
		if r.IntN(4) == 0 {
			e.Subresource = "status"
		}
		if i == 0 && r.IntN(2) == 0 {
			e.Manager, e.Operation, e.Subresource = "me", metav1.ManagedFieldsOperationUpdate, w.sub
		}
		switch r.IntN(25) {
		case 0:
			e.APIVersion = schema.GroupVersion{Group: w.kind.Group, Version: "v2"}.String()
		case 1:
			e.APIVersion = "gone.example.com/v0"
		case 2:
			e.FieldsV1 = metav1.NewFieldsV1([]string{"null", "{", " {}", `{"f:spec":{".":{}},"f:spec":{}}`, "[]"}[r.IntN(5)])
		}
		out = append(out, e)
	}
	return out
}

// fieldsOf returns the fields of the live object, or none if upstream can't determine them.
func fieldsOf(w *write) (fields *fieldpath.Set) {
	defer func() {
		if recover() != nil { // upstream panics on a value that can't be encoded in JSON
			fields = fieldpath.NewSet()
		}
	}()
	v, err := w.converter.ObjectToTyped(w.live, typed.AllowDuplicates)
	if err != nil {
		return fieldpath.NewSet()
	}
	if fields, err = v.ToFieldSet(); err != nil {
		return fieldpath.NewSet()
	}
	return fields
}

func randomWrite(t testing.TB, seed uint64) write {
	r := rand.New(rand.NewPCG(seed, 7))
	w := write{}
	if r.IntN(2) == 0 {
		w = typedWrite(t, r)
	} else {
		w = plainWrite(t, r)
	}
	live, _ := meta.Accessor(w.live)
	after, _ := meta.Accessor(w.new)
	if r.IntN(4) == 0 {
		w.sub = "status"
	}
	entries := own(r, &w)
	live.SetManagedFields(entries)
	if r.IntN(4) > 0 {
		live.SetUID("u")
		after.SetUID([]types.UID{"u", "u", ""}[r.IntN(3)])
	}
	switch r.IntN(6) {
	case 0:
		after.SetManagedFields(nil)
	case 1:
		after.SetManagedFields([]metav1.ManagedFieldsEntry{})
	case 2:
		after.SetManagedFields(own(r, &w))
	default:
		after.SetManagedFields(entries)
	}
	if r.IntN(3) == 0 {
		w.reset = map[fieldpath.APIVersion]fieldpath.Filter{fieldpath.APIVersion(w.kind.GroupVersion().String()): fieldpath.NewExcludeSetFilter(
			fieldpath.NewSet(fieldpath.MakePathOrDie([]any{"status", "spec"}[r.IntN(2)])))}
	}
	return w
}

// outcome returns the result of an update: managedFields with the new times replaced, an error,
// or a panic.
func outcome(f manager, w write) (out string) {
	defer func() {
		if p := recover(); p != nil {
			out = "panic: " + fmt.Sprint(p)
		}
	}()
	object, err := f.Update(w.live.DeepCopyObject(), w.new.DeepCopyObject(), "me")
	if err != nil {
		lines := strings.Split(err.Error(), "\n")
		slices.Sort(lines) // the errors, one per line, come in random order
		return "error: " + strings.Join(lines, "\n")
	}
	m, err := meta.Accessor(object)
	if err != nil {
		return "no metadata"
	}
	entries := m.GetManagedFields()
	for i := range entries {
		if at := entries[i].Time; at != nil && time.Since(at.Time) < time.Hour {
			*at = metav1.NewTime(time.Unix(2e9, 0))
		}
	}
	m.SetManagedFields(nil)
	managers, err := json.Marshal(entries)
	if err != nil {
		return "no JSON: " + err.Error()
	}
	return string(managers)
}

func agree(t testing.TB, seed uint64) {
	t.Helper()
	w := randomWrite(t, seed)
	whole, prunes := managers(t, w.converter, w.kind, w.sub, w.reset)
	live, after := w.live.DeepCopyObject(), w.new.DeepCopyObject()
	want, got := outcome(whole, w), outcome(prunes, w)
	// If several fields are not in the schema, the order of a map decides which of them
	// upstream's error names. So upstream is tried again until it gives the same error.
	for tries := 0; want != got && kindOfOutcome(want) == "error" && kindOfOutcome(got) == "error" && tries < 200; tries++ {
		want = outcome(whole, w)
	}
	if want != got {
		t.Fatalf("seed %d, %s %q: managers differ\nwhole:  %s\npruned: %s", seed, w.kind, w.sub, want, got)
	}
	outcomes[kindOfOutcome(want)]++
	// Prune must not modify the objects that it gets.
	p := NewPruner(w.converter, func() bool { return true })
	p.Prune(w.live, w.new, fieldpath.APIVersion(w.kind.GroupVersion().String()), nil)
	if !same(live, w.live) || !same(after, w.new) {
		t.Fatalf("seed %d: an object was changed", seed)
	}
}

var outcomes = map[string]int{}

func kindOfOutcome(s string) string {
	switch {
	case strings.HasPrefix(s, "error: "):
		return "error"
	case strings.HasPrefix(s, "panic: "):
		return "panic"
	case s == "null":
		return "no managers"
	}
	return "managers"
}

// same compares two objects by their printed form, in which NaN equals NaN.
func same(a, b runtime.Object) bool {
	return fmt.Sprintf("%v", plain(a)) == fmt.Sprintf("%v", plain(b))
}

func plain(o runtime.Object) any {
	if u, ok := o.(*unstructured.Unstructured); ok {
		return u.Object
	}
	data, err := json.Marshal(o)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// TestSameManagers compares the managedFields after an update with pruning with those that
// upstream computes, for random objects, schemas and managers.
func TestSameManagers(t *testing.T) {
	for i := range uint64(*rounds) {
		agree(t, *firstSeed+i)
	}
	t.Logf("%d pairs, pruned in %d of %d updates that asked, managers parted in %d, objects bare in %d; outcomes %v", *rounds, pruned, asked, parts, bared, outcomes)
	if pruned < *rounds*2/5 || bared < *rounds/30 || parts < *rounds/5 || outcomes["managers"] < *rounds/2 || outcomes["error"] < *rounds/200 {
		t.Errorf("the random cases are too one-sided: pruned in %d, outcomes %v", pruned, outcomes)
	}
}

func FuzzSameManagers(f *testing.F) {
	for seed := range uint64(5) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) { agree(t, seed) })
}
