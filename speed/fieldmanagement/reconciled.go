// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldmanagement

import "sigs.k8s.io/structured-merge-diff/v6/schema"

// reconciled reports whether upstream's reconciliation of a set of field paths with the schema
// would leave the dropped part of the set unchanged. Reconciliation is for a schema that has
// changed: if a type has become atomic, the paths below a value of this type are replaced by the
// path of the whole value. reconciled also returns false if reconciliation would fail.
func (w setIterator) reconciled(r root, tr schema.TypeRef) bool {
	atom, ok := r.schema.Resolve(tr)
	n, dropped, more := w.next()
	switch {
	case !ok:
		return false
	case atom.Map != nil:
		if atom.Map.ElementRelationship == schema.Atomic {
			return !more
		}
	case atom.Scalar != nil:
		return true
	case atom.List == nil:
		return false
	case atom.List.ElementRelationship == schema.Atomic:
		return !more
	}
	for ; more; n, dropped, more = w.next() {
		if r.complete && w.nodes[n].after == n+1 {
			continue // nothing is below the element
		}
		below := schema.TypeRef{}
		if atom.Map == nil {
			below = atom.List.ElementType
		} else if below = atom.Map.ElementType; w.raw[w.nodes[n].start] == 'f' {
			if field, ok := atom.Map.FindField(string(w.key(int(n))[2:])); ok {
				below = field.Type
			}
		}
		if atom.Map != nil && below == (schema.TypeRef{}) {
			continue // upstream ignores fields that the schema does not have
		}
		if !w.into(n, dropped).reconciled(r, below) {
			return false
		}
	}
	return true
}

// root is the root type of a kind, with the schema that contains it.
type root struct {
	schema *schema.Schema
	ref    schema.TypeRef
	// complete is true if every type exists that the schema refers to below ref.
	complete bool
}

// complete reports whether every type exists that the schema refers to below tr.
func complete(s *schema.Schema, tr schema.TypeRef, seen map[string]bool) bool {
	if name := tr.NamedType; name != nil {
		if seen[*name] {
			return true
		}
		seen[*name] = true
	}
	atom, _ := s.Resolve(tr)
	if atom.Map == nil && atom.Scalar == nil && atom.List == nil {
		return false
	}
	if atom.List != nil && !complete(s, atom.List.ElementType, seen) {
		return false
	}
	if atom.Map == nil {
		return true
	}
	for _, f := range atom.Map.Fields {
		if !complete(s, f.Type, seen) {
			return false
		}
	}
	return atom.Map.ElementType == (schema.TypeRef{}) || complete(s, atom.Map.ElementType, seen)
}
