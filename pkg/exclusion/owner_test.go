// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package exclusion

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authorization/granular"
)

func entry(manager string, at time.Time) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "apiextensions.k8s.io/v1",
		Time: &metav1.Time{Time: at}, FieldsType: "FieldsV1", FieldsV1: &metav1.FieldsV1{Raw: []byte(granular.KeptFields)}}
}

// TestOwner checks when the server owns the versions of a definition, and that an update which
// changes nothing but times of managed fields stores nothing.
func TestOwner(t *testing.T) {
	before, later := time.Unix(1, 0), time.Unix(2, 0)
	server, typed := entry(granular.FieldManager, before), entry("typed", before)
	typedLater := entry("typed", later)
	for _, test := range []struct {
		name            string
		stored, updated []metav1.ManagedFieldsEntry
		kept            bool
		changed         bool
		want            []metav1.ManagedFieldsEntry
	}{
		{"nothing is kept", []metav1.ManagedFieldsEntry{typed}, []metav1.ManagedFieldsEntry{typedLater}, false, false, []metav1.ManagedFieldsEntry{typedLater}},
		{"kept again", []metav1.ManagedFieldsEntry{typed, server}, []metav1.ManagedFieldsEntry{typedLater}, true, false, []metav1.ManagedFieldsEntry{typed, server}},
		{"kept again with a change", []metav1.ManagedFieldsEntry{typed, server}, []metav1.ManagedFieldsEntry{typedLater}, true, true, []metav1.ManagedFieldsEntry{typedLater, server}},
		{"an apply of the same versions", []metav1.ManagedFieldsEntry{typed, server}, []metav1.ManagedFieldsEntry{typedLater}, false, false, []metav1.ManagedFieldsEntry{typed, server}},
		{"an apply of the same versions, the server's entry first", []metav1.ManagedFieldsEntry{server, typed},
			[]metav1.ManagedFieldsEntry{typedLater}, false, false, []metav1.ManagedFieldsEntry{server, typed}},
		{"kept again with a change, the server's entry first", []metav1.ManagedFieldsEntry{server, typed},
			[]metav1.ManagedFieldsEntry{typedLater}, true, true, []metav1.ManagedFieldsEntry{typedLater, server}},
		{"an apply of other versions", []metav1.ManagedFieldsEntry{typed, server}, []metav1.ManagedFieldsEntry{typedLater}, false, true, []metav1.ManagedFieldsEntry{typedLater}},
		{"managed fields that a caller reset", []metav1.ManagedFieldsEntry{typed, server}, nil, true, false, nil},
	} {
		stored, updated := box(true, "secret"), box(true, "secret")
		if test.changed {
			updated = box(true, "secret", "other")
		}
		stored.ManagedFields, updated.ManagedFields = test.stored, slices.Clone(test.updated)
		got := withOwner(updated, stored, test.kept).ManagedFields
		same := slices.EqualFunc(got, test.want, func(a, b metav1.ManagedFieldsEntry) bool { return a.Manager == b.Manager && a.Time.Equal(b.Time) })
		if !same {
			t.Errorf("%s: got %v, want %v", test.name, got, test.want)
		}
	}
	first := box(true, "secret")
	if got := withOwner(first, box(true, "secret"), true).ManagedFields; !slices.ContainsFunc(got, granular.OwnedByServer) || got[len(got)-1].Time == nil {
		t.Errorf("the server does not own what it keeps: %v", got)
	}
}
