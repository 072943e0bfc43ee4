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
// client that really writes a field, which is often a controller and not the author of its object. If
// somebody owns an excluded field, AddObject also counts who updates the object and does not.
func (p *Plan) AddObject(managed []metav1.ManagedFieldsEntry) {
	sets := make([]*fieldpath.Set, len(managed))
	for i := range managed {
		set := &fieldpath.Set{}
		if managed[i].FieldsV1 != nil && set.FromJSON(bytes.NewReader(managed[i].FieldsV1.GetRawBytes())) == nil {
			sets[i] = set
		}
	}
	for i := range p.Entries {
		e := &p.Entries[i]
		owners := counted{}
		for j := range managed {
			if m := &managed[j]; sets[j] != nil && owns(sets[j], e.path) {
				owners.add(&e.Writers, m)
			}
		}
		others := counted{}
		for j := range managed {
			m := &managed[j]
			updates := m.Operation == metav1.ManagedFieldsOperationUpdate && m.Subresource == "" && sets[j] != nil
			if e.Excluded && len(owners) > 0 && !owners[m.Manager] && updates {
				others.add(&e.Droppers, m)
			}
		}
	}
}

// counted has the managers that were counted for one object: one with several entries counts once.
type counted map[string]bool

func (c counted) add(writers *[]Writer, m *metav1.ManagedFieldsEntry) {
	index := slices.IndexFunc(*writers, func(w Writer) bool { return w.Manager == m.Manager })
	if index < 0 {
		index = len(*writers)
		*writers = append(*writers, Writer{Manager: m.Manager})
	}
	w := &(*writers)[index]
	if !c[m.Manager] {
		w.Objects++
		c[m.Manager] = true
	}
	if m.Time != nil {
		w.Last = max(w.Last, m.Time.UTC().Format(time.RFC3339))
	}
}

// SortWriters sorts the managers of each entry: that with most objects comes first.
func (p *Plan) SortWriters() {
	for i := range p.Entries {
		for _, writers := range [][]Writer{p.Entries[i].Writers, p.Entries[i].Droppers} {
			slices.SortFunc(writers, func(a, b Writer) int {
				return cmp.Or(cmp.Compare(b.Objects, a.Objects), cmp.Compare(a.Manager, b.Manager))
			})
		}
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
