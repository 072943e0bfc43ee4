// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldplan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"kube-granular.dev/granular/overlay"
)

// TestOwns checks which managed fields own the field at a path.
func TestOwns(t *testing.T) {
	for _, tc := range []struct {
		managed, path string
		want          bool
	}{
		{`{"f:spec":{"f:destination":{}}}`, ".spec.destination", true},
		{`{"f:spec":{"f:destination":{"f:server":{}}}}`, ".spec.destination", true},
		{`{"f:spec":{"f:destination":{"f:server":{}}}}`, ".spec.destination.server", true},
		// An object that is owned as a whole has all its fields.
		{`{"f:spec":{"f:destination":{}}}`, ".spec.destination.server", true},
		{`{"f:spec":{"f:destination":{".":{},"f:name":{}}}}`, ".spec.destination.server", false},
		{`{"f:spec":{"f:project":{}}}`, ".spec.destination", false},
		{`{"f:spec":{"f:ports":{"k:{\"name\":\"a\"}":{".":{},"f:number":{}}}}}`, ".spec.ports[*].number", true},
		{`{"f:spec":{"f:ports":{"k:{\"name\":\"a\"}":{".":{},"f:name":{}}}}}`, ".spec.ports[*].number", false},
		{`{"f:spec":{"f:limits":{"f:cpu":{"f:value":{}}}}}`, ".spec.limits[*].value", true},
		{`{"f:metadata":{"f:finalizers":{".":{},"v:\"example.com/a\"":{}}}}`, ".metadata.finalizers", true},
		{`{}`, ".spec", false},
	} {
		path, err := overlay.ParsePath(tc.path)
		if err != nil {
			t.Fatal(err)
		}
		set := &fieldpath.Set{}
		if err := set.FromJSON(strings.NewReader(tc.managed)); err != nil {
			t.Fatal(err)
		}
		if got := owns(set, path); got != tc.want {
			t.Errorf("%s in %s: %t, want %t", tc.path, tc.managed, got, tc.want)
		}
	}
}

// TestWriters checks that a manager counts once for each object, and that who owns most comes first.
func TestWriters(t *testing.T) {
	path, err := overlay.ParsePath(".spec.replicas")
	if err != nil {
		t.Fatal(err)
	}
	p := &Plan{Entries: []Entry{{path: path}}}
	managed := func(manager, subresource string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Subresource: subresource, FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:replicas":{}}}`)}
	}
	p.AddObject([]metav1.ManagedFieldsEntry{managed("kubectl", ""), managed("scaler", ""), managed("scaler", "scale")})
	p.AddObject([]metav1.ManagedFieldsEntry{managed("scaler", "scale"), {Manager: "none"}})
	p.SortWriters()
	if diff := cmp.Diff([]Writer{{Manager: "scaler", Objects: 2}, {Manager: "kubectl", Objects: 1}}, p.Entries[0].Writers); diff != "" {
		t.Error(diff)
	}
}

// TestDroppers checks that a plan names the managers that update an object with an excluded field and do not own it,
// because they may not know the field: not those that apply or write a subresource, and none for a name.
//
// Attack: an old client that does not know a closed field updates the object and removes the field, or is refused and nobody knew
// Answer: the update is refused, and the plan names such clients before
func TestDroppers(t *testing.T) {
	path, err := overlay.ParsePath(".spec.replicas")
	if err != nil {
		t.Fatal(err)
	}
	managed := func(manager, subresource, fields string, operation metav1.ManagedFieldsOperationType) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Subresource: subresource, Operation: operation, FieldsV1: metav1.NewFieldsV1(fields)}
	}
	const update = metav1.ManagedFieldsOperationUpdate
	owned, other := `{"f:spec":{"f:replicas":{}}}`, `{"f:spec":{"f:paused":{}}}`
	for name, tc := range map[string]struct {
		excluded bool
		managed  []metav1.ManagedFieldsEntry
		want     []Writer
	}{
		"an old client": {true, []metav1.ManagedFieldsEntry{managed("kubectl", "", owned, update), managed("old", "", other, update), managed("old", "", other, update)},
			[]Writer{{Manager: "old", Objects: 1}}},
		"a name":        {false, []metav1.ManagedFieldsEntry{managed("kubectl", "", owned, update), managed("old", "", other, update)}, nil},
		"not there":     {true, []metav1.ManagedFieldsEntry{managed("old", "", other, update)}, nil},
		"apply":         {true, []metav1.ManagedFieldsEntry{managed("kubectl", "", owned, update), managed("flux", "", other, metav1.ManagedFieldsOperationApply)}, nil},
		"a subresource": {true, []metav1.ManagedFieldsEntry{managed("kubectl", "", owned, update), managed("kubelet", "status", other, update)}, nil},
		"the owner":     {true, []metav1.ManagedFieldsEntry{managed("a", "", owned, update), managed("a", "", other, update)}, nil},
	} {
		p := &Plan{Entries: []Entry{{path: path, Excluded: tc.excluded}}}
		p.AddObject(tc.managed)
		if diff := cmp.Diff(tc.want, p.Entries[0].Droppers); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
