// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// survey is the result of scanning all definitions that a root refers to, before any of them is
// compiled. The scan of a definition is final, because everything it refers to was scanned too.
type survey struct {
	scans map[string]*scan
	// candidates has, for each map of properties, the sorted fields that have a permission or a
	// reference at or below them. The compiler visits only these. The key is the identity of the
	// map; see the function identity.
	candidates map[uintptr][]field
	arena      arena
}

// field is a property that has permissions or references.
type field struct {
	name string
	// in is the scan that found the field. from and to delimit its references in in.refs.
	in       *scan
	from, to int
	marked   bool
	// schema is the schema of the property, nil until needed. It is a copy, because a value in a
	// map has no address.
	schema *spec.Schema
}

func byName(a, b field) int { return strings.Compare(a.name, b.name) }

// size returns the number of values in the survey.
func (s *survey) size() int {
	return len(s.scans) + len(s.candidates) + s.arena.used + len(s.arena.fields) + cap(s.arena.stack)
}

// reset empties the survey and its arena.
func (s *survey) reset() {
	clear(s.scans)
	clear(s.candidates)
	s.arena.reset()
}

// fieldCarries reports whether there may be a permission in a field.
func (s *survey) fieldCarries(f *field) bool {
	return f.marked || slices.ContainsFunc(f.in.refs[f.from:f.to], s.nameCarries)
}

func (s *survey) nameCarries(name string) bool {
	target := s.scans[name]
	return target == nil || target.carries
}

// extend scans root, all definitions that it refers to, directly or not, and the definition of
// object metadata. It leaves out definitions that were scanned before.
func (s *survey) extend(all definitions, root string) {
	usedBy := map[string][]*scan{}
	queue := []string{root, objectMetaDefault}
	for len(queue) > 0 {
		name := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		definition := all[name]
		if definition == nil || s.scans[name] != nil {
			continue
		}
		found := &scan{name: name, number: len(s.scans), survey: s}
		found.schema(definition, false)
		s.scans[name] = found
		for _, ref := range found.refs {
			usedBy[ref] = append(usedBy[ref], found)
		}
		queue = append(queue, found.refs...)
	}
	s.spread(usedBy)
}

// spread sets the field carries of every definition that refers, directly or not, to a definition
// with a permission. It sets the field excludes of every definition that refers, directly or not,
// to one with an excluded permission. usedBy has, for each name of a definition, the scans that
// refer to it. Definitions may refer to each other in cycles.
func (s *survey) spread(usedBy map[string][]*scan) {
	var queue []string
	for name := range usedBy {
		if found := s.scans[name]; found != nil && found.carries {
			queue = append(queue, name)
		}
	}
	for len(queue) > 0 {
		name := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		found := s.scans[name]
		for _, user := range usedBy[name] {
			if !user.carries || found.excludes && !user.excludes {
				user.carries = true
				user.excludes = user.excludes || found.excludes
				queue = append(queue, user.name)
			}
		}
	}
}

// check returns an error if a definition has a permission below anyOf, oneOf, not or a pattern,
// where permissions can't be enforced.
func (s *survey) check(name string) error {
	found := s.scans[name]
	if found.misplaced != "" {
		return fmt.Errorf("definition %s: %s can't stand below anyOf, oneOf, not or a pattern", name, found.misplaced)
	}
	for _, ref := range found.conditionalRefs {
		if target := s.scans[ref]; target != nil && target.carries {
			return fmt.Errorf("definition %s: a permission of %s can't stand below anyOf, oneOf, not or a pattern", name, ref)
		}
	}
	return nil
}

// reaches reports whether a definition, or any that it refers to, directly or not, is on the
// stack. If none of them is, the definition is compiled to the same node on every path, so the
// node may be cached.
func (s *survey) reaches(start *scan, t *definitionStack) bool {
	if start.reach == nil {
		start.reach = s.reach(start)
	}
	for ; t != nil; t = t.above {
		if start.reach.has(s.scans[t.name].number) {
			return true
		}
	}
	return false
}

func (s *survey) reach(start *scan) bits {
	out := make(bits, len(s.scans)/64+1)
	queue := []*scan{start}
	for len(queue) > 0 {
		next := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if out.has(next.number) {
			continue
		}
		out.add(next.number)
		for _, ref := range next.refs {
			if found := s.scans[ref]; found != nil {
				queue = append(queue, found)
			}
		}
	}
	return out
}

// bits is a set of definitions: bit i stands for the definition whose scan.number is i. Numbers
// beyond the last bit are not in the set.
type bits []uint64

func (b bits) has(i int) bool { return i/64 < len(b) && b[i/64]&(1<<(i%64)) != 0 }
func (b bits) add(i int)      { b[i/64] |= 1 << (i % 64) }

// carry reports whether there may be a permission in any of the schemas.
func (s *survey) carry(schemas layers) bool {
	for _, one := range schemas {
		if s.carries(one) {
			return true
		}
	}
	return false
}

func (s *survey) carries(schema *spec.Schema) bool {
	if marked(schema) {
		return true
	}
	if name := refName(schema); name != "" && s.nameCarries(name) {
		return true
	}
	fields := s.candidates[identity(schema.Properties)]
	for i := range fields {
		if s.fieldCarries(&fields[i]) {
			return true
		}
	}
	for i := range schema.AllOf {
		if s.carries(&schema.AllOf[i]) {
			return true
		}
	}
	return schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil && s.carries(schema.AdditionalProperties.Schema) ||
		schema.Items != nil && schema.Items.Schema != nil && s.carries(schema.Items.Schema)
}

// property returns the schemas of a field, one from each layer that has the field.
func (s *survey) property(l layers, name string) layers {
	var out layers
	for _, one := range l {
		fields := s.candidates[identity(one.Properties)]
		if i, found := slices.BinarySearchFunc(fields, field{name: name}, byName); found {
			f := &fields[i]
			if f.schema == nil {
				f.schema = s.arena.copy(one.Properties, name)
			}
			out = append(out, f.schema)
		} else if _, ok := one.Properties[name]; ok {
			out = append(out, s.arena.copy(one.Properties, name))
		}
	}
	return out
}

// identity identifies a map by its address and not by its content. A copy of a schema has the same
// maps as the schema.
func identity(properties map[string]spec.Schema) uintptr {
	return reflect.ValueOf(properties).Pointer()
}
