// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldmanagement

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

const podFields = `{"f:metadata":{"f:labels":{".":{},"f:a":{}}},"f:spec":{"f:nodeName":{}}}`

func unreadPod(t *testing.T, raw string) *lazySet {
	t.Helper()
	e := managedBy("m", raw)
	u, ok := NewDecoder(func() bool { return true })(&e).(*lazySet)
	if !ok {
		t.Fatalf("%s: not read", raw)
	}
	return u
}

func partedPod(t *testing.T, raw string, d ...dropped) *partialSet {
	t.Helper()
	plan := NewPruner(builtinConverter(t), func() bool { return true }).planOf(kindOf{kindNamed("v1/Pod"), reflect.TypeFor[corev1.Pod]()})
	return splitSet(unreadPod(t, raw), d, plan.root)
}

// TestDecoder checks which entries the decoder leaves to upstream, and what it returns for the
// others.
func TestDecoder(t *testing.T) {
	off := managedBy("m", podFields)
	if NewDecoder(func() bool { return false })(&off) != nil {
		t.Error("decoded though off")
	}
	none := off
	none.FieldsV1 = nil
	odd := managedBy("m", ` {}`)
	for _, e := range []metav1.ManagedFieldsEntry{none, odd} {
		if set := NewDecoder(func() bool { return true })(&e); set != nil {
			t.Errorf("%v: decoded as %v", e, set)
		}
	}
	applied := off
	applied.Operation = metav1.ManagedFieldsOperationApply
	if set := NewDecoder(func() bool { return true })(&applied); set == nil || !set.Applied() || set.APIVersion() != "v1" {
		t.Errorf("applied: %v", set)
	}
	if unreadPod(t, podFields).Applied() {
		t.Error("an update was applied")
	}
}

// TestEncoded checks when Encoded returns the encoding of a set: only as long as nobody has
// asked for the decoded set, and so may have changed it.
func TestEncoded(t *testing.T) {
	u := unreadPod(t, podFields)
	if raw, ok := u.Encoded(); !ok || string(raw) != podFields {
		t.Errorf("as read: %s %v", raw, ok)
	}
	u.Set().Insert(fieldpath.MakePathOrDie("status"))
	if _, ok := u.Encoded(); ok {
		t.Error("Encoded returns an encoding for a set that was changed")
	}

	spec := dropped{name: "spec"}
	status := fieldpath.NewVersionedSet(fieldpath.NewSet(fieldpath.MakePathOrDie("metadata", "labels", "b")), "v1", false)
	p := partedPod(t, podFields, spec)
	if got := p.compared.Set().String(); got != ".metadata.labels\n.metadata.labels.a" {
		t.Errorf("compared: %s", got)
	}
	if raw, ok := p.Encoded(); !ok || string(raw) != podFields {
		t.Errorf("parted: %s %v", raw, ok)
	}
	const more = `{"f:metadata":{"f:labels":{".":{},"f:a":{},"f:b":{}}},"f:spec":{"f:nodeName":{}}}`
	q := p.Union(status).(*partialSet)
	if raw, ok := q.Encoded(); !ok || string(raw) != more {
		t.Errorf("union: %s %v", raw, ok)
	}
	if raw, err := q.Set().ToJSON(); err != nil || string(raw) != more {
		t.Errorf("decoded union: %s %v", raw, err)
	}
	if _, ok := q.Encoded(); ok || q.Union(status) != nil {
		t.Error("Encoded returns an encoding for a set that was decoded and may have been changed")
	}

	for name, set := range map[string]*fieldpath.Set{
		"an element with nothing in it": func() *fieldpath.Set {
			s := fieldpath.NewSet()
			s.Children.Descend(fieldpath.FieldNameElement("spec"))
			return s
		}(),
		"an odd name": fieldpath.NewSet(fieldpath.MakePathOrDie("metadata", "labels", "ä")),
	} {
		p.compared = fieldpath.NewVersionedSet(set, "v1", false)
		if raw, ok := p.Encoded(); ok {
			t.Errorf("%s: %s", name, raw)
		}
	}
}

// TestAskedFor holds that a set is not split if somebody has asked for it decoded, or if there
// is no schema.
func TestAskedFor(t *testing.T) {
	plan := NewPruner(builtinConverter(t), func() bool { return true }).planOf(kindOf{kindNamed("v1/Pod"), reflect.TypeFor[corev1.Pod]()})
	asked, fresh := unreadPod(t, podFields), unreadPod(t, podFields)
	asked.Set().Insert(fieldpath.MakePathOrDie("spec", "hostname"))
	compared, restore := plan.split(fieldpath.ManagedFields{"asked": asked, "fresh": fresh}, []dropped{{name: "spec"}})
	if compared["asked"] != fieldpath.VersionedSet(asked) || compared["fresh"] == fieldpath.VersionedSet(fresh) {
		t.Errorf("compared: %v", compared)
	}
	if got := restore(compared); !got["asked"].Set().Has(fieldpath.MakePathOrDie("spec", "hostname")) || !got["fresh"].Set().Has(fieldpath.MakePathOrDie("spec", "nodeName")) {
		t.Errorf("restored: %v", got)
	}
	if splitSet(fresh, []dropped{{name: "spec"}}, root{ref: plan.root.ref}) != nil {
		t.Error("split without a schema")
	}
}

// TestPartOf checks which sets are split, for several dropped fields.
func TestPartOf(t *testing.T) {
	for _, test := range []struct {
		name, raw string
		d         dropped
		parted    bool
	}{
		{"a field", podFields, dropped{name: "spec"}, true},
		{"a field of another", podFields, dropped{"metadata", []dropped{{name: "labels"}}}, true},
		{"nothing of the set", podFields, dropped{name: "status"}, false},
		{"nothing of a field", podFields, dropped{"spec", []dropped{{name: "volumes"}}}, false},
		{"a value of the name", `{"v:1":{}}`, dropped{name: "1"}, false},
		{"what has become atomic", `{"f:spec":{"f:nodeSelector":{"f:a":{}}}}`, dropped{name: "spec"}, false},
		{"what has become atomic elsewhere", `{"f:metadata":{},"f:spec":{"f:nodeSelector":{"f:a":{}}}}`,
			dropped{name: "metadata"}, true},
	} {
		if p := partedPod(t, test.raw, test.d); (p != nil) != test.parted {
			t.Errorf("%s: parted %v", test.name, p != nil)
		}
	}
}
