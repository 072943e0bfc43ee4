// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authorization/granular"
)

func TestSameManagedFields(t *testing.T) {
	entry := func(manager, fields string) metav1.ManagedFieldsEntry {
		e := metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationApply,
			APIVersion: "v1"}
		if fields != "" {
			e.FieldsV1 = metav1.NewFieldsV1(fields)
		}
		return e
	}
	const fields = `{"f:data":{".":{},"f:a":{}},"f:list":{"k:{\"a\":1}":{"f:b":{}}}}`
	server := []metav1.ManagedFieldsEntry{entry("a", fields)}
	now := metav1.Now()
	with := func(change func(e *metav1.ManagedFieldsEntry)) []metav1.ManagedFieldsEntry {
		e := entry("a", fields)
		change(&e)
		return []metav1.ManagedFieldsEntry{e}
	}
	if known := reflect.TypeFor[metav1.ManagedFieldsEntry]().NumField(); known != 7 {
		t.Errorf("an entry has %d fields, and 7 are compared", known)
	}
	for _, test := range []struct {
		name         string
		callerChange []metav1.ManagedFieldsEntry
		want         bool
	}{
		{"the same", []metav1.ManagedFieldsEntry{entry("a", fields)}, true},
		{"with spaces, in another order",
			[]metav1.ManagedFieldsEntry{entry("a", `{ "f:list": {"k:{\"a\":1}": {"f:b": {}}}, "f:data": {"f:a": {}, ".": {}} }`)},
			true},
		{"another field",
			[]metav1.ManagedFieldsEntry{entry("a", `{"f:data":{".":{},"f:b":{}},"f:list":{"k:{\"a\":1}":{"f:b":{}}}}`)},
			false},
		{"one field less",
			[]metav1.ManagedFieldsEntry{entry("a", `{"f:data":{".":{}},"f:list":{"k:{\"a\":1}":{"f:b":{}}}}`)},
			false},
		{"a field twice: the server reads the last",
			[]metav1.ManagedFieldsEntry{entry("a", `{"f:data":{"f:b":{}},"f:data":{".":{},"f:a":{}},"f:list":{"k:{\"a\":1}":{"f:b":{}}}}`)},
			true},
		{"another manager", []metav1.ManagedFieldsEntry{entry("b", fields)}, false},
		{"one more", []metav1.ManagedFieldsEntry{entry("a", fields), entry("b", `{}`)}, false},
		{"no fields", []metav1.ManagedFieldsEntry{entry("a", "")}, false},
		{"another operation",
			with(func(e *metav1.ManagedFieldsEntry) { e.Operation = metav1.ManagedFieldsOperationUpdate }), false},
		{"another version", with(func(e *metav1.ManagedFieldsEntry) { e.APIVersion = "v2" }), false},
		{"a time", with(func(e *metav1.ManagedFieldsEntry) { e.Time = &now }), false},
		{"another type of fields", with(func(e *metav1.ManagedFieldsEntry) { e.FieldsType = "x" }), false},
		{"a subresource", with(func(e *metav1.ManagedFieldsEntry) { e.Subresource = "status" }), false},
		{"no JSON", []metav1.ManagedFieldsEntry{entry("a", "{")}, false},
	} {
		if got := sameManagedFields(test.callerChange, server); got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
	}
}

// TestTampered checks which managed fields count as edited, for custom resources and for Go
// types.
func TestTampered(t *testing.T) {
	const one, other = `{"manager":"a","operation":"Update","fieldsV1":{"f:spec":{}}}`, `{"manager":"b","operation":"Update","fieldsV1":{"f:spec":{}}}`
	with := func(uid, entries string) *unstructured.Unstructured {
		u := object(t, fmt.Sprintf(`{"metadata":{"managedFields":%s}}`, entries))
		u.SetUID(types.UID(uid))
		return u
	}
	for name, tc := range map[string]struct {
		callerChange, is *unstructured.Unstructured
		want             bool
	}{
		"none":                          {with("1", `null`), with("1", `[`+one+`]`), false},
		"a reset by an empty list":      {with("1", `[]`), with("1", `[`+one+`]`), true},
		"an empty list, there are none": {with("1", `[]`), with("1", `null`), false},
		"an empty list, none is stored": {with("", `[]`), with("", `null`), false},
		"the same":                      {with("1", `[`+one+`]`), with("1", `[`+one+`]`), false},
		"the same, a field more":        {with("1", `[`+one+`]`), with("1", `[{"time":null,`+one[1:]+`]`), false},
		"another manager":               {with("1", `[`+other+`]`), with("1", `[`+one+`]`), true},
		"one more":                      {with("1", `[`+one+`,`+other+`]`), with("1", `[`+one+`]`), true},
		"a reset":                       {with("1", `[{}]`), with("1", `[`+one+`]`), true},
		"of an object that is not yet":  {with("", `[`+one+`]`), with("", `null`), true},
		"no entries":                    {with("1", `["a"]`), with("1", `[`+one+`]`), true},
		"where there are none":          {with("1", `[`+one+`]`), with("1", `null`), true},
	} {
		if got := tampered(tc.callerChange, tc.is); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
		typed := func(u *unstructured.Unstructured) runtime.Object {
			out := &metav1.PartialObjectMetadata{}
			out.SetUID(u.GetUID())
			out.SetManagedFields(u.GetManagedFields())
			return out
		}
		if name == "no entries" {
			continue // a Go type can't hold such an entry
		}
		if got := tampered(typed(tc.callerChange), typed(tc.is)); got != tc.want {
			t.Errorf("%s, of a Go type: %t", name, got)
		}
	}
}

// TestTamperedWithoutMetadata checks that an object whose metadata can't be read counts as edited
// if an object is stored.
func TestTamperedWithoutMetadata(t *testing.T) {
	stored := &metav1.PartialObjectMetadata{}
	stored.SetUID("1")
	if !tampered(&metav1.Status{}, stored) {
		t.Error("an object without metadata")
	}
	if tampered(&metav1.Status{}, nil) {
		t.Error("a new object without metadata")
	}
}

// TestManagedFieldsAreDropped checks a caller that makes an object so large that the server drops
// its managed fields. The caller needs the same permission as for editing managed fields.
func TestManagedFieldsAreDropped(t *testing.T) {
	of := target(t, strings.Replace(things, "EXCLUDED", "true", 1))
	owned := func(text string) *unstructured.Unstructured {
		u := object(t, text)
		u.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "somebody"}})
		return u
	}
	bare := func(text string) *unstructured.Unstructured { return object(t, text) }
	for _, tc := range []struct {
		allow    []string
		old      *unstructured.Unstructured
		observed []*unstructured.Unstructured
		final    *unstructured.Unstructured
		says     string
	}{
		{allow: []string{"granular:size"}, old: owned(plain), observed: []*unstructured.Unstructured{owned(larger)},
			final: owned(larger)},
		// In a PATCH the server drops managed fields after admission, in a PUT in an attempt of
		// its own.
		{allow: []string{"granular:size"}, old: owned(plain), observed: []*unstructured.Unstructured{owned(larger)},
			final: bare(larger), says: ".metadata.managedFields"},
		{allow: []string{"granular:size"}, old: owned(plain),
			observed: []*unstructured.Unstructured{owned(larger), bare(larger)}, final: bare(larger),
			says: ".metadata.managedFields"},
		{allow: []string{"granular:metadata"}, old: owned(plain),
			observed: []*unstructured.Unstructured{owned(larger)}, final: bare(larger), says: ".spec.size"},
		{allow: []string{"granular:size", "granular:metadata"}, old: owned(plain),
			observed: []*unstructured.Unstructured{owned(larger)}, final: bare(larger)},
		// The new object had no managed fields in any attempt, or the old one had none.
		{allow: []string{"granular:size"}, old: owned(plain), observed: []*unstructured.Unstructured{bare(larger)},
			final: bare(larger)},
		{allow: []string{"granular:size"}, old: bare(plain), observed: []*unstructured.Unstructured{owned(larger)},
			final: bare(larger)},
	} {
		ctx, marker := granular.WithMarker(requestContext("update"))
		w := New(&grants{allow: tc.allow}).Begin(ctx, of)
		for _, observed := range tc.observed {
			if err := w.Submitted(ctx, bare(larger), tc.old); err != nil {
				t.Fatal(err)
			}
			if err := w.Observe(ctx, observed, tc.old); err != nil {
				t.Fatal(err)
			}
		}
		judged(t, w.Verify(ctx, tc.final, tc.old), marker, tc.says)
	}
	ctx := requestContext("update")
	w := New(&grants{}).Begin(ctx, of)
	if err := w.Observe(ctx, owned(larger), owned(plain)); err != nil {
		t.Fatal(err)
	}
	if err := w.Verify(ctx, bare(larger), owned(plain)); err != nil {
		t.Errorf("a caller of the ordinary verb: %v", err)
	}
}
