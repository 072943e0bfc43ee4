// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package change

// Subtract returns those of the changes that are not known: known has no equal one, and no Ambiguous
// one that stands for it. The values of changes are not compared.
func Subtract(changes, known Set) Set {
	if len(changes) == 0 || len(known) == 0 {
		return changes
	}
	if sameChanges(known, changes) {
		return nil
	}
	x := newIndex(known, changes)
	seen, equal := x.coverage(known), make(map[changeKey]bool, len(known))
	for i := range known {
		equal[x.key(&known[i])] = true
	}
	var out Set
	for i := range changes {
		if c := &changes[i]; !equal[x.key(c)] && !seen.covered[x.of(c.narrowest()).first] {
			out = append(out, *c)
		}
	}
	return out
}

// changeKey is equal for two changes that are the same: at the same location and, if they are Ambiguous,
// of the same Extent. Locations are given by their numbers in an index.
type changeKey struct {
	at, extent          int32
	ambiguous, presence bool
}

func (x *index) key(c *Change) changeKey {
	out := changeKey{at: x.ids[c.at], ambiguous: c.Ambiguous, presence: c.Presence}
	if c.Ambiguous {
		out.extent = x.ids[c.extent]
	}
	return out
}
