// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldmanagement

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

func droppable(s *structPlan) (whole, inside []string) {
	for _, f := range s.fields {
		if f.equal != nil {
			whole = append(whole, f.name)
		} else if f.below != nil {
			inside = append(inside, f.name)
		}
	}
	slices.Sort(whole)
	slices.Sort(inside)
	return whole, inside
}

// TestPlans checks which fields of several kinds may be dropped, wholly or in part. A prover
// that fails too often saves nothing, and one that never fails proves nothing.
func TestPlans(t *testing.T) {
	for _, test := range []struct {
		kind          string
		whole, inside []string
	}{
		{"v1/Pod", []string{"spec", "status"}, []string{"metadata"}},
		{"v1/ConfigMap", []string{"binaryData", "data", "immutable"}, []string{"metadata"}},
		{"apps/v1/Deployment", []string{"spec", "status"}, []string{"metadata"}},
		{"v1/Node", []string{"spec", "status"}, []string{"metadata"}},
		{"apps/v1/ControllerRevision", []string{"data", "revision"}, []string{"metadata"}}, // the raw JSON in data is never equal
	} {
		p := NewPruner(builtinConverter(t), func() bool { return true })
		plan := p.planOf(kindOf{kindNamed(test.kind), reflect.TypeOf(typedKinds[test.kind]()).Elem()})
		if !plan.stub || plan.object == nil {
			t.Errorf("%s: no plan", test.kind)
			continue
		}
		whole, inside := droppable(plan.object)
		if !slices.Equal(whole, test.whole) || !slices.Equal(inside, test.inside) {
			t.Errorf("%s: may drop %v, and something of %v", test.kind, whole, inside)
		}
	}
}

// TestPrune checks what is left of two objects after equal fields were dropped.
func TestPrune(t *testing.T) {
	replicas := func(n int32) *appsv1.Deployment {
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", Labels: map[string]string{"a": "b"}}}
		d.SetGroupVersionKind(kindNamed("apps/v1/Deployment"))
		d.Spec.Replicas = &n
		d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "c", Image: "i"}}
		return d
	}
	left := func(n int32) *appsv1.Deployment {
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"}}
		d.SetGroupVersionKind(kindNamed("apps/v1/Deployment"))
		d.Spec.Replicas = &n
		return d
	}
	live, after := replicas(1), replicas(2)
	live.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{}}`)},
		{Manager: "n"}}
	want := left(1)
	want.ManagedFields = []metav1.ManagedFieldsEntry{{}}
	p := NewPruner(builtinConverter(t), func() bool { return true })
	a, b, _, _ := p.Prune(live, after, "apps/v1", nil)
	if !reflect.DeepEqual(a, runtime.Object(want)) || !reflect.DeepEqual(b, runtime.Object(left(2))) {
		t.Errorf("left to compare:\n%+v\n%+v", a, b)
	}
}

// TestBare checks which minimal objects replace pods that differ only in labels and annotations,
// and that pods with another difference are not replaced.
func TestBare(t *testing.T) {
	pod := func(change func(*corev1.Pod)) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "u", Name: "web", Namespace: "default", Labels: map[string]string{"a": "b", "c": "d"}, Generation: 1},
			Spec: corev1.PodSpec{NodeName: "n"}}
		p.SetGroupVersionKind(kindNamed("v1/Pod"))
		change(p)
		return p
	}
	managed := []metav1.ManagedFieldsEntry{managedBy("m", `{}`)}
	after := pod(func(p *corev1.Pod) { p.Labels["a"] = "x"; p.Annotations = map[string]string{"e": "f"} })
	p := NewPruner(builtinConverter(t), func() bool { return true })
	a, b, _, _ := p.Prune(pod(func(p *corev1.Pod) { p.ManagedFields = managed }), after, "v1", nil)
	bare := func(rest map[string]any) runtime.Object {
		metadata := map[string]any{"name": "web", "namespace": "default"}
		maps.Copy(metadata, rest)
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": metadata}}
	}
	wantA := bare(map[string]any{"labels": map[string]any{"a": "b"}, "managedFields": []any{map[string]any{}}})
	wantB := bare(map[string]any{"labels": map[string]any{"a": "x"}, "annotations": map[string]any{"e": "f"}})
	if !reflect.DeepEqual(a, wantA) || !reflect.DeepEqual(b, wantB) {
		t.Errorf("bare:\n%+v\n%+v", a, b)
	}
	for name, change := range map[string]func(*corev1.Pod){
		"spec":       func(p *corev1.Pod) { p.Spec.NodeName = "m" },
		"status":     func(p *corev1.Pod) { p.Status.Phase = "x" },
		"generation": func(p *corev1.Pod) { p.Generation = 2 },
		"finalizers": func(p *corev1.Pod) { p.Finalizers = []string{"x"} },
		"managers":   func(p *corev1.Pod) { p.ManagedFields = managed },
		"managers that are no JSON": func(p *corev1.Pod) {
			p.ManagedFields = []metav1.ManagedFieldsEntry{managedBy("m", `{`)}
		},
	} {
		live, after := pod(func(*corev1.Pod) {}), pod(change)
		if name == "managers that are no JSON" {
			live, after = after, live
		}
		managers := fieldpath.ManagedFields{"m": unreadPod(t, podFields)}
		if a, b, _, _ := p.Prune(live, after, "v1", managers); reflect.TypeOf(a) != reflect.TypeOf(live) || reflect.TypeOf(b) != reflect.TypeOf(live) {
			t.Errorf("%s is lost: %+v %+v", name, a, b)
		}
	}
}

// TestMayBeBare holds that only objects with apiVersion, kind and the usual metadata may be
// replaced by a minimal object.
func TestMayBeBare(t *testing.T) {
	below := &structPlan{}
	both := map[string]bool{"apiVersion": true, "kind": true}
	for _, test := range []struct {
		name    string
		field   fieldPlan
		names   map[string]bool
		minimal bool
	}{
		{"an object", fieldPlan{name: "metadata", typ: objectMetaType, below: below}, both, true},
		{"no version", fieldPlan{name: "metadata", typ: objectMetaType, below: below},
			map[string]bool{"kind": true}, false},
		{"no kind", fieldPlan{name: "metadata", typ: objectMetaType, below: below},
			map[string]bool{"apiVersion": true}, false},
		{"a list", fieldPlan{name: "metadata", typ: reflect.TypeFor[metav1.ListMeta](), below: below}, both, false},
		{"metadata that is not looked into", fieldPlan{name: "metadata", typ: objectMetaType}, both, false},
		{"no metadata", fieldPlan{name: "spec", typ: objectMetaType, below: below}, both, false},
	} {
		s := &structPlan{fields: []fieldPlan{test.field}, count: 3}
		if s.minimal = s.mayBeMinimal(test.names); s.minimal != test.minimal {
			t.Errorf("%s: may be bare %v", test.name, s.minimal)
		}
	}
	all := []dropped{{name: "a"}}
	if s := (&structPlan{count: 3}); s.isMinimal(all) {
		t.Error("minimal, though minimal is not set")
	} else if s.minimal = true; !s.isMinimal(all) {
		t.Error("not minimal, so the check above tests nothing")
	}
}

// TestBareMetadata holds that an object is replaced by a minimal one only if all other fields of
// its metadata were dropped as a whole.
func TestBareMetadata(t *testing.T) {
	s := &structPlan{count: 6}
	for _, test := range []struct {
		d       []dropped
		minimal bool
	}{
		{nil, false},
		{[]dropped{{name: "uid"}}, true},
		{[]dropped{{name: "labels"}, {name: "uid"}}, true},
		{[]dropped{{name: "labels"}}, false},
		{[]dropped{{"uid", []dropped{{name: "part"}}}}, false},
	} {
		if minimalMetadata(s, test.d) != test.minimal {
			t.Errorf("%v: bare %v", test.d, !test.minimal)
		}
	}
	o := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{}}}
	want := map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{}}
	if got := minimalObject(o, kindNamed("v1/Pod")); !reflect.DeepEqual(got.Object, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestDroppedInOrder holds that the dropped entries of unstructured maps are sorted by name.
func TestDroppedInOrder(t *testing.T) {
	a := map[string]any{"same": "x", "other": "x"}
	for _, name := range []string{"c", "a", "e", "b", "d"} {
		a[name] = "x"
	}
	b := maps.Clone(a)
	b["other"] = "y"
	d := difference{}
	_, _, out, _ := d.prune(a, b, 0)
	var names []string
	for _, here := range out {
		names = append(names, here.name)
	}
	if !slices.Equal(names, []string{"a", "b", "c", "d", "e", "same"}) {
		t.Errorf("dropped %v", names)
	}
}

// TestDropEntries checks which entries of two maps are left, and which are dropped.
func TestDropEntries(t *testing.T) {
	type strings = map[string]string
	drop := entries[reflect.TypeFor[strings]()]
	for _, test := range []struct {
		name               string
		a, b, leftA, leftB strings
		dropped            []string
	}{
		{"one differs", strings{"d": "1", "b": "1", "c": "1", "a": "1", "e": "1"},
			strings{"a": "1", "b": "1", "c": "1", "d": "2", "e": "1"}, strings{"d": "1"}, strings{"d": "2"},
			[]string{"a", "b", "c", "e"}},
		{"one is added", strings{"a": "1", "b": "1"}, strings{"a": "1", "b": "1", "c": "1"}, strings{"a": "1"},
			strings{"a": "1", "c": "1"}, []string{"b"}},
		{"one is removed", strings{"a": "1", "b": "1", "c": "1"}, strings{"a": "1", "b": "1"},
			strings{"a": "1", "c": "1"}, strings{"a": "1"}, []string{"b"}},
		{"the only one was added to", strings{"a": "1"}, strings{"a": "1", "b": "1"}, strings{"a": "1"},
			strings{"a": "1", "b": "1"}, nil},
		{"all differ", strings{"a": "1"}, strings{"a": "2"}, strings{"a": "1"}, strings{"a": "2"}, nil},
		{"nothing there", nil, strings{"a": "2"}, nil, strings{"a": "2"}, nil},
		{"nothing left", strings{"a": "2"}, strings{}, strings{"a": "2"}, strings{}, nil},
	} {
		x, y := reflect.New(reflect.TypeFor[strings]()).Elem(), reflect.New(reflect.TypeFor[strings]()).Elem()
		x.Set(reflect.ValueOf(test.a))
		y.Set(reflect.ValueOf(test.b))
		var names []string
		for _, d := range drop(x, y) {
			names = append(names, d.name)
		}
		if !reflect.DeepEqual(x.Interface(), test.leftA) || !reflect.DeepEqual(y.Interface(), test.leftB) || !slices.Equal(names, test.dropped) {
			t.Errorf("%s: %v and %v left, %v dropped", test.name, x, y, names)
		}
		if names == nil && (x.Pointer() != reflect.ValueOf(test.a).Pointer() || y.Pointer() != reflect.ValueOf(test.b).Pointer()) {
			t.Errorf("%s: copied for nothing", test.name)
		}
	}
	c := &corev1.ConfigMap{BinaryData: map[string][]byte{"a": nil, "b": {1}, "c": {2}}}
	d := &corev1.ConfigMap{BinaryData: map[string][]byte{"a": {}, "b": {1}, "c": {3}}}
	got := entries[reflect.TypeFor[map[string][]byte]()](reflect.ValueOf(c).Elem().FieldByName("BinaryData"), reflect.ValueOf(d).Elem().FieldByName("BinaryData"))
	if len(got) != 1 || got[0].name != "b" {
		t.Errorf("dropped %v", got)
	}
	// Single entries are dropped only from labels and annotations of a pod, and from no map that
	// is compared as a whole.
	plan := NewPruner(builtinConverter(t), func() bool { return true }).planOf(kindOf{kindNamed("v1/Pod"), reflect.TypeFor[corev1.Pod]()})
	var looked []string
	for _, f := range plan.object.fields {
		for _, g := range append([]fieldPlan{f}, fieldsBelow(f)...) {
			if g.entries != nil {
				looked = append(looked, g.name)
			}
		}
	}
	if !slices.Equal(looked, []string{"annotations", "labels"}) {
		t.Errorf("entries are dropped of %v", looked)
	}
}

func fieldsBelow(f fieldPlan) []fieldPlan {
	if f.below == nil {
		return nil
	}
	return f.below.fields
}

// TestUnpruned checks when objects are not pruned.
func TestUnpruned(t *testing.T) {
	pod := func() *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "u"}, Spec: corev1.PodSpec{NodeName: "n"}}
		p.SetGroupVersionKind(kindNamed("v1/Pod"))
		return p
	}
	created := pod()
	created.UID = ""
	stranger := pod()
	stranger.SetGroupVersionKind(kindNamed("v1/Stranger"))
	plain := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"uid": "u", "name": "n", "labels": map[string]any{"a": "b"}}, "spec": map[string]any{"noSuchField": "x"}}}
	other := fieldpath.ManagedFields{"m": fieldpath.NewVersionedSet(fieldpath.NewSet(), "v2", false)}
	for _, test := range []struct {
		name      string
		off       bool
		live, new runtime.Object
		managers  fieldpath.ManagedFields
	}{
		{name: "gate off", off: true, live: pod(), new: pod()},
		{name: "a manager of another version", live: pod(), new: pod(), managers: other},
		{name: "two kinds", live: stranger, new: pod()},
		{name: "a kind without schema", live: stranger, new: stranger},
		{name: "two Go types", live: plain, new: pod()},
		{name: "a create", live: created, new: pod()},
		{name: "what is not valid", live: plain, new: plain.DeepCopy()},
	} {
		p := NewPruner(builtinConverter(t), func() bool { return !test.off })
		if a, b, _, _ := p.Prune(test.live, test.new, "v1", test.managers); a != test.live || b != test.new {
			t.Errorf("%s: pruned", test.name)
		}
	}
	p := NewPruner(builtinConverter(t), func() bool { return true })
	a, b := pod(), pod()
	if x, y, _, _ := p.Prune(a, b, "v1", nil); x == runtime.Object(a) || y == runtime.Object(b) {
		t.Error("two pods: not pruned, so the cases above test nothing")
	}
}

// TestListsAreComparedDeeply holds that atomic lists must be equal in memory to be dropped.
// Upstream compares them with reflect.DeepEqual, and so finds a difference that JSON does not
// show.
func TestListsAreComparedDeeply(t *testing.T) {
	policy := func(port intstr.IntOrString) *networkingv1.NetworkPolicy {
		n := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "u"}}
		n.SetGroupVersionKind(kindNamed("networking.k8s.io/v1/NetworkPolicy"))
		n.Spec.Egress = []networkingv1.NetworkPolicyEgressRule{{Ports: []networkingv1.NetworkPolicyPort{{Port: &port}}}}
		n.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m", Operation: "Update", APIVersion: "networking.k8s.io/v1", FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:egress":{}}}`)}}
		return n
	}
	w := write{converter: builtinConverter(t), kind: kindNamed("networking.k8s.io/v1/NetworkPolicy"),
		live: policy(intstr.IntOrString{Type: intstr.String, StrVal: "50%", IntVal: 3}), new: policy(intstr.FromString("50%"))}
	whole, prunes := managers(t, w.converter, w.kind, "", nil)
	want, got := outcome(whole, w), outcome(prunes, w)
	if want != got {
		t.Errorf("managers differ\nwhole:  %s\npruned: %s", want, got)
	}
}
