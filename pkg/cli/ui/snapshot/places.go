// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"slices"

	"kube-granular.dev/pkg/cli/ui/model"
)

// place is a field with verbs, for input without the schemas of a server.
type place struct {
	steps      []string
	own, cover []model.Verb
	excluded   bool
}

// tree is a field of such a kind, with the fields below it in order.
type tree struct {
	place
	name  string
	below []*tree
}

// descend returns the field at a path below, and adds it if it is not there.
func (t *tree) descend(steps []string) *tree {
	for _, step := range steps {
		i := slices.IndexFunc(t.below, func(b *tree) bool { return b.name == step })
		if i < 0 {
			i = len(t.below)
			t.below = append(t.below, &tree{name: step, place: place{cover: t.cover, excluded: t.excluded}})
		}
		t = t.below[i]
	}
	return t
}

// addPlaces adds the fields of a kind, and returns the index of its root, and whether one is excluded.
func (m *maker) addPlaces(places []place, t *target) (root int, excluded bool) {
	slices.SortStableFunc(places, func(a, b place) int { return slices.Compare(a.steps, b.steps) })
	all := &tree{}
	for i := range places {
		field := all.descend(places[i].steps)
		field.own = append(field.own, places[i].own...)
		field.cover, field.excluded = places[i].cover, places[i].excluded
	}
	return m.planted(all, t)
}

func (m *maker) planted(place *tree, t *target) (index int, excluded bool) {
	out := model.Field{Name: place.name, Excluded: place.excluded}
	for _, v := range place.own {
		out.Own = append(out.Own, m.verb(v, t))
	}
	for _, v := range place.cover {
		out.Cover = append(out.Cover, m.verb(v, t))
	}
	excluded = place.excluded
	for _, below := range place.below {
		i, x := m.planted(below, t)
		out.Fields, excluded = append(out.Fields, i), excluded || x
	}
	return intern(m.fields, &m.out.Fields, out), excluded
}
