// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// scan is the result of scanning one definition, without following its references.
type scan struct {
	name   string
	number int
	survey *survey
	// carries is set if the definition has a permission. survey.spread then sets it for every
	// definition that refers, directly or not, to one with a permission. The compiler enters only
	// definitions for which carries is set.
	carries bool
	// excludes is set in the same way as carries, but for excluded permissions.
	excludes bool
	// marks counts the permission extensions that the scan met so far.
	marks int
	refs  []string
	// conditionalRefs are references below anyOf and the like, where no permission can be
	// enforced.
	conditionalRefs []string
	// reach is the set of the definition itself and all definitions that it refers to, directly or
	// not. It is nil until survey.reaches computes it.
	reach bits
	// misplaced is the name of a permission extension below anyOf and the like, empty if there is
	// none.
	misplaced string
}

// schema scans s, and reports whether a permission or a reference is at or below s. conditional
// tells that s is below anyOf and the like, where it depends on the value whether a schema
// applies. A permission there would cover a field for some values only, so survey.check refuses
// the permission. The result does not count what is found below anyOf inside s.
func (f *scan) schema(s *spec.Schema, conditional bool) bool {
	// Most schemas describe scalars: they have no reference, and nothing below them to scan. For
	// these, every condition below is false, so that they cost little.
	candidate := len(s.Extensions) > 0 && f.extensions(s.Extensions, conditional)
	if ref := refName(s); ref != "" {
		candidate = true
		f.refs = append(f.refs, ref)
		if conditional {
			f.conditionalRefs = append(f.conditionalRefs, ref)
		}
	}
	if len(s.Properties) > 0 {
		if below := f.properties(s.Properties, conditional); below != nil {
			candidate = true
			f.survey.candidates[identity(s.Properties)] = below
		}
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		candidate = f.schema(s.AdditionalProperties.Schema, conditional) || candidate
	}
	if s.Items != nil && s.Items.Schema != nil {
		candidate = f.schema(s.Items.Schema, conditional) || candidate
	}
	for i := range s.AllOf {
		candidate = f.schema(&s.AllOf[i], conditional) || candidate
	}
	for i := range s.OneOf {
		f.schema(&s.OneOf[i], true)
	}
	for i := range s.AnyOf {
		f.schema(&s.AnyOf[i], true)
	}
	if s.Not != nil {
		f.schema(s.Not, true)
	}
	if len(s.PatternProperties) > 0 {
		f.properties(s.PatternProperties, true)
	}
	if s.Items != nil {
		for i := range s.Items.Schemas {
			f.schema(&s.Items.Schemas[i], true)
		}
	}
	if s.AdditionalItems != nil && s.AdditionalItems.Schema != nil {
		f.schema(s.AdditionalItems.Schema, true)
	}
	return candidate
}

// properties scans a map of properties. It returns the fields that have a permission or a
// reference at or below them, sorted by name.
func (f *scan) properties(all map[string]spec.Schema, conditional bool) []field {
	// name and value are declared before the loop. If the loop declared them, each round would
	// allocate a spec.Schema, which is large.
	arena := &f.survey.arena
	height := len(arena.stack)
	var name string
	var value spec.Schema
	for name, value = range all {
		marks, refs := f.marks, len(f.refs)
		if f.schema(&value, conditional) {
			arena.stack = append(arena.stack, field{name: name, in: f, marked: f.marks > marks, from: refs, to: len(f.refs)})
		}
	}
	if height == len(arena.stack) {
		return nil
	}
	out := arena.pop(height)
	slices.SortFunc(out, byName)
	return out
}

// extensions reports whether a schema has a permission extension.
func (f *scan) extensions(all spec.Extensions, conditional bool) bool {
	candidate := false
	for key, value := range all {
		if !strings.HasPrefix(key, extPrefix) {
			continue
		}
		candidate, f.carries = true, true
		f.marks++
		if key == ExtExcluded && value != false && value != "false" {
			f.excludes = true
		}
		if entries, ok := value.([]Entry); ok && slices.ContainsFunc(entries, func(e Entry) bool { return e.Excluded }) {
			f.excludes = true
		}
		if conditional && (f.misplaced == "" || key < f.misplaced) {
			f.misplaced = key
		}
	}
	return candidate
}
