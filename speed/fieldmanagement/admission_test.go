// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldmanagement

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/endpoints/handlers/fieldmanager"
	"k8s.io/apiserver/pkg/warning"
)

// editing is an admission plugin that changes the managedFields of a pod.
type editing func(*corev1.Pod)

func (editing) Handles(admission.Operation) bool { return true }

func (e editing) Admit(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	e(a.GetObject().(*corev1.Pod))
	return nil
}

type warnings []string

func (w *warnings) AddWarning(_, text string) { *w = append(*w, text) }

// admitted returns everything that upstream's controller makes of the changes of an admission
// plugin to managedFields: the object, warnings and the error. If ours is true, entries are
// decoded by this package.
func admitted(t *testing.T, entries []metav1.ManagedFieldsEntry, edit editing, ours bool) string {
	t.Helper()
	decoding = ours
	defer func() { decoding = false }()
	pod := (&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", ManagedFields: entries}}).DeepCopy()
	warned := warnings{}
	ctx := warning.WithWarningRecorder(t.Context(), &warned)
	a := admission.NewAttributesRecord(pod, nil, schema.GroupVersionKind{}, "", "web", schema.GroupVersionResource{}, "", admission.Update, nil, false, nil)
	err := fieldmanager.NewManagedFieldsValidatingAdmissionController(edit).(admission.MutationInterface).Admit(ctx, a, nil)
	data, err2 := json.Marshal(pod)
	if err2 != nil {
		// If the entries are not JSON any more, they are added as they are.
		for _, e := range pod.ManagedFields {
			data = append(data, e.String()...)
		}
	}
	return strings.Join(append([]string{string(data), "error:"}, append(warned, errorText(err))...), "\n")
}

func errorText(err error) string {
	if err == nil {
		return "none"
	}
	return err.Error()
}

func managedBy(name, fields string) metav1.ManagedFieldsEntry {
	at := metav1.NewTime(time.Unix(1e9, 0).UTC())
	return metav1.ManagedFieldsEntry{Manager: name, Operation: metav1.ManagedFieldsOperationUpdate,
		APIVersion: "v1", Time: &at, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields)}
}

// TestAdmission holds that changes of managedFields by admission have the same effects with this
// package's decoder as with upstream's. If a change makes managedFields invalid, upstream warns,
// and restores the entries from before admission.
func TestAdmission(t *testing.T) {
	usual := []metav1.ManagedFieldsEntry{managedBy("m", `{"f:metadata":{"f:labels":{".":{},"f:a":{}}}}`),
		managedBy("n", `{"f:spec":{"f:nodeName":{}}}`)}
	first := func(change func(*metav1.ManagedFieldsEntry)) editing {
		return func(p *corev1.Pod) { change(&p.ManagedFields[0]) }
	}
	bytesAt := func(text string) editing {
		return first(func(e *metav1.ManagedFieldsEntry) { copy(e.FieldsV1.GetRawBytes(), text) })
	}
	for _, test := range []struct {
		name    string
		edit    editing
		refused bool
	}{
		{"nothing", func(*corev1.Pod) {}, false},
		{"something else", func(p *corev1.Pod) { p.Labels = map[string]string{"a": "b"} }, false},
		{"time only", first(func(e *metav1.ManagedFieldsEntry) { e.Time = nil }), false},
		{"manager", first(func(e *metav1.ManagedFieldsEntry) { e.Manager = "other" }), false},
		{"operation",
			first(func(e *metav1.ManagedFieldsEntry) { e.Operation = metav1.ManagedFieldsOperationApply }), false},
		{"no operation", first(func(e *metav1.ManagedFieldsEntry) { e.Operation = "" }), true},
		{"another operation", first(func(e *metav1.ManagedFieldsEntry) { e.Operation = "Merge" }), true},
		{"no version", first(func(e *metav1.ManagedFieldsEntry) { e.APIVersion = "" }), true},
		{"another version", first(func(e *metav1.ManagedFieldsEntry) { e.APIVersion = "v2" }), false},
		{"no type", first(func(e *metav1.ManagedFieldsEntry) { e.FieldsType = "" }), true},
		{"another type", first(func(e *metav1.ManagedFieldsEntry) { e.FieldsType = "FieldsV2" }), true},
		{"no fields", first(func(e *metav1.ManagedFieldsEntry) { e.FieldsV1 = nil }), false},
		{"empty fields", first(func(e *metav1.ManagedFieldsEntry) { e.FieldsV1 = &metav1.FieldsV1{} }), true},
		{"other fields",
			first(func(e *metav1.ManagedFieldsEntry) { e.FieldsV1 = metav1.NewFieldsV1(`{"f:spec":{}}`) }), false},
		{"wrong fields",
			first(func(e *metav1.ManagedFieldsEntry) { e.FieldsV1 = metav1.NewFieldsV1(`{"f:spec"}`) }), true},
		{"bytes in place", bytesAt(`{"f:METADATA"`), false},
		{"wrong bytes in place", bytesAt(`{"f:metadata}`), true},
		{"other spelling", bytesAt(`{"f:ab\u0061":`), false},
		{"no path element", bytesAt(`{"k:metadata"`), true},
		{"appended",
			func(p *corev1.Pod) { p.ManagedFields = append(p.ManagedFields, managedBy("o", `{"f:x":{}}`)) }, false},
		{"appended wrong",
			func(p *corev1.Pod) { p.ManagedFields = append(p.ManagedFields, managedBy("o", `{"v:x":{}}`)) }, true},
		{"appended nothing",
			func(p *corev1.Pod) { p.ManagedFields = append(p.ManagedFields, metav1.ManagedFieldsEntry{}) }, true},
		{"removed", func(p *corev1.Pod) { p.ManagedFields = p.ManagedFields[1:] }, false},
		{"nil", func(p *corev1.Pod) { p.ManagedFields = nil }, false},
		{"none", func(p *corev1.Pod) { p.ManagedFields = []metav1.ManagedFieldsEntry{} }, false},
		{"one empty", func(p *corev1.Pod) { p.ManagedFields = []metav1.ManagedFieldsEntry{{}} }, true},
		{"reordered", func(p *corev1.Pod) { slices.Reverse(p.ManagedFields) }, false},
		{"duplicate", func(p *corev1.Pod) { p.ManagedFields[1] = p.ManagedFields[0] }, false},
	} {
		want, got := admitted(t, usual, test.edit, false), admitted(t, usual, test.edit, true)
		if got != want {
			t.Errorf("%s: %s\nupstream: %s", test.name, got, want)
		}
		if refused := strings.Contains(want, "was in an invalid state"); refused != test.refused {
			t.Errorf("%s: upstream warned %v: %s", test.name, refused, want)
		}
	}
	// If managedFields were invalid before admission, upstream warns but does not restore them.
	wrong := []metav1.ManagedFieldsEntry{managedBy("m", `{"f:spec"}`)}
	want, got := admitted(t, wrong, func(*corev1.Pod) {}, false), admitted(t, wrong, func(*corev1.Pod) {}, true)
	if got != want || !strings.Contains(got, "was in an invalid state") {
		t.Errorf("wrong before: %s\nupstream: %s", got, want)
	}
}

// TestAdmissionOfAnything does what TestAdmission does, with random sets of which admission
// changes some bytes.
func TestAdmissionOfAnything(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 16))
	refused := 0
	for range *rounds / 3 {
		raw, err := randomSet(r, 3).ToJSON()
		if err != nil {
			t.Fatal(err)
		}
		entries := []metav1.ManagedFieldsEntry{managedBy("m", string(raw)), managedBy("n", `{"f:spec":{}}`)}
		changed := misspell(r, raw)
		edit := func(p *corev1.Pod) { p.ManagedFields[0].FieldsV1.SetRawBytes(changed) }
		want, got := admitted(t, entries, edit, false), admitted(t, entries, edit, true)
		if got != want {
			t.Fatalf("%s, changed to %s: %s\nupstream: %s", raw, changed, got, want)
		}
		if strings.Contains(want, "was in an invalid state") {
			refused++
		}
	}
	if refused < *rounds/15 || refused > *rounds/3*9/10 {
		t.Errorf("the random cases are too one-sided: %d refused", refused)
	}
}
