// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import "k8s.io/kube-openapi/pkg/validation/spec"

// maxReusedArena is the largest size of a survey whose arena is used again. The size is a number
// of values of ten to five hundred bytes; see survey.size.
const maxReusedArena = 1024

// arena holds the memory of a survey (the scan of the definitions before a compilation), which is
// most of what a compilation allocates. When a survey is no longer needed, the next one uses its
// arena.
type arena struct {
	// copies are copies of properties, because a value in a map has no address. used is the number
	// of copies that are in use, counted from the first.
	copies []*spec.Schema
	used   int
	// fields are the fields of all maps of properties, one map after the other.
	fields []field
	// stack has the fields that were found so far in the maps that are being scanned.
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

// pop removes the fields above a height from the stack and returns a copy of them.
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
