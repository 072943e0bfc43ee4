// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import "k8s.io/kube-openapi/pkg/validation/spec"

// maxReusedArena is the largest size of a survey whose arena is kept for the next survey.
// survey.size counts the size in values, each of ten to five hundred bytes. The arena of a larger
// survey is left to the garbage collector.
const maxReusedArena = 1024

// arena holds the memory of a survey (the scan of the definitions before a compilation). This is
// most of the memory that a compilation allocates. When a survey is no longer needed, the next
// survey uses the same arena.
type arena struct {
	// copies are copies of the schemas of properties. They exist because a value in a map has no
	// address. The first copies, as many as used says, are in use; the others are free.
	copies []*spec.Schema
	used   int
	// fields holds the lists of fields that scan.properties returned, one list after the other.
	fields []field
	// stack holds the fields found so far in the maps of properties that are still being scanned.
	// The fields of the innermost map are last.
	stack []field
}

// copy copies a property and returns the address of the copy.
func (r *arena) copy(properties map[string]spec.Schema, name string) *spec.Schema {
	if r.used == len(r.copies) {
		r.copies = append(r.copies, new(spec.Schema))
	}
	p := r.copies[r.used]
	r.used++
	*p = properties[name]
	return p
}

// pop leaves the first height fields on the stack, removes the others and returns a copy of the
// removed ones.
func (r *arena) pop(height int) []field {
	start := len(r.fields)
	r.fields = append(r.fields, r.stack[height:]...)
	r.stack = r.stack[:height]
	return r.fields[start:len(r.fields):len(r.fields)]
}

// reset empties the arena. Nothing that came from the arena may be used afterwards.
func (r *arena) reset() {
	for _, p := range r.copies[:r.used] {
		*p = spec.Schema{}
	}
	clear(r.fields)
	clear(r.stack[:cap(r.stack)])
	r.used, r.fields = 0, r.fields[:0]
}
