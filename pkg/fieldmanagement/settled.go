// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldmanagement

import "sigs.k8s.io/structured-merge-diff/v6/schema"

// settled says that upstream's reconciliation of a set with the schema it is managed
// by, which makes one field of what has become atomic, would find nothing to do in
// the set. What it would fail on is not settled.
func (f *fields) settled(s *schema.Schema, root schema.TypeRef) bool {
	return f.below(s, root, 0, int32(len(f.nodes)))
}

func (f *fields) below(s *schema.Schema, tr schema.TypeRef, at, end int32) bool {
	atom, ok := s.Resolve(tr)
	switch {
	case !ok:
		return false
	case atom.Map != nil:
		if deduced(atom.Map) {
			return true
		}
		if atom.Map.ElementRelationship == schema.Atomic {
			return at == end
		}
	case atom.Scalar != nil:
		return true
	case atom.List == nil:
		return false
	case atom.List.ElementRelationship == schema.Atomic:
		return at == end
	}
	for next := at; at < end; at = next {
		n := &f.nodes[at]
		next = n.after
		below := schema.TypeRef{}
		if atom.Map == nil {
			below = atom.List.ElementType
		} else if below = atom.Map.ElementType; f.raw[n.start] == 'f' {
			if field, ok := atom.Map.FindField(string(f.raw[n.start+2 : n.colon])); ok {
				below = field.Type
			}
		}
		if atom.Map != nil && below == (schema.TypeRef{}) {
			continue // upstream leaves alone what no schema has
		}
		if !f.below(s, below, at+1, next) {
			return false
		}
	}
	return true
}

// deduced says that a map has nothing but what is made up from values.
func deduced(m *schema.Map) bool {
	if m.Fields != nil {
		return false
	}
	if name := m.ElementType.NamedType; name != nil {
		return *name == "__untyped_deduced_"
	}
	scalar := m.ElementType.Inlined.Scalar
	return scalar != nil && *scalar == schema.Untyped
}
