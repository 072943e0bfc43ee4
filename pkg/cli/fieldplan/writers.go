// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldplan

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"kube-granular.dev/granular/overlay"
)

// AddObject counts who owns the fields of the entries in an object, by its managed fields. They name the
// client that really writes a field, which is often a controller and not the author of its object.
func (p *Plan) AddObject(managed []metav1.ManagedFieldsEntry) {
	for i := range p.Entries {
		e := &p.Entries[i]
		counted := map[string]bool{}
		for j := range managed {
			m := &managed[j]
			if m.FieldsV1 == nil {
				continue
			}
			set := &fieldpath.Set{}
			if set.FromJSON(bytes.NewReader(m.FieldsV1.GetRawBytes())) != nil || !owns(set, e.path) {
				continue
			}
			e.addWriter(m, !counted[m.Manager])
			counted[m.Manager] = true
		}
	}
}

// addWriter adds an entry of managed fields. Managers with several entries in an object own the field in
// one object.
func (e *Entry) addWriter(m *metav1.ManagedFieldsEntry, first bool) {
	index := slices.IndexFunc(e.Writers, func(w Writer) bool { return w.Manager == m.Manager })
	if index < 0 {
		index = len(e.Writers)
		e.Writers = append(e.Writers, Writer{Manager: m.Manager})
	}
	w := &e.Writers[index]
	if first {
		w.Objects++
	}
	if m.Time != nil {
		w.Last = max(w.Last, m.Time.UTC().Format(time.RFC3339))
	}
}

// SortWriters sorts the writers of each entry: who owns most objects comes first.
func (p *Plan) SortWriters() {
	for i := range p.Entries {
		slices.SortFunc(p.Entries[i].Writers, func(a, b Writer) int {
			return cmp.Or(cmp.Compare(b.Objects, a.Objects), cmp.Compare(a.Manager, b.Manager))
		})
	}
}

// owns reports whether a set of managed fields has the field at a path, a field inside it, or one around it
// that is owned as a whole.
func owns(set *fieldpath.Set, path overlay.Path) bool {
	if len(path) == 0 {
		return !set.Empty()
	}
	step := path[0]
	found := false
	matches := func(element fieldpath.PathElement) bool {
		switch {
		case step.Every:
			return true
		case element.FieldName != nil:
			return *element.FieldName == step.Name
		}
		return false
	}
	set.Members.Iterate(func(element fieldpath.PathElement) {
		// A member whose parts are owned apart is an object or an element that exists, and no more.
		if _, parts := set.Children.Get(element); matches(element) && (!parts || len(path) == 1) {
			found = true
		}
	})
	set.Children.Iterate(func(element fieldpath.PathElement) {
		if child, ok := set.Children.Get(element); ok && !found && matches(element) {
			found = owns(child, path[1:])
		}
	})
	return found
}
