// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import "k8s.io/kube-openapi/pkg/validation/spec"

// maxRoom is how much there may be in a survey whose room is used again, counted in what
// takes from ten to five hundred bytes.
const maxReusedArena = 1024

// room is where a survey puts what it finds. Once nobody needs that any more, the next
// survey can have the room: most of what a compilation allocates is otherwise there.
type arena struct {
	// copies are of properties, which have no address in their map. The first used ones
	// are taken.
	copies []*spec.Schema
	used   int
	// fields are those of all maps, one after the other.
	fields []field
	// met is a stack of the fields that were met so far, of the maps that are looked at.
	stack []field
}

// copy gives a property an address.
func (r *arena) copy(properties map[string]spec.Schema, name string) *spec.Schema {
	if r.used == len(r.copies) {
		r.copies = append(r.copies, new(spec.Schema))
	}
	p := r.copies[r.used]
	r.used++
	*p = properties[name]
	return p
}

// pop takes fields off the stack, down to a height, for good.
func (r *arena) pop(height int) []field {
	start := len(r.fields)
	r.fields = append(r.fields, r.stack[height:]...)
	r.stack = r.stack[:height]
	return r.fields[start:len(r.fields):len(r.fields)]
}

// leave empties the room. What was in it must not be looked at any more.
func (r *arena) reset() {
	for _, p := range r.copies[:r.used] {
		*p = spec.Schema{}
	}
	clear(r.fields)
	clear(r.stack[:cap(r.stack)])
	r.used, r.fields = 0, r.fields[:0]
}
