// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// scan is what one look through a definition found, references not followed.
type scan struct {
	name   string
	number int
	survey *survey
	// carries says that a permission is in the definition or, after spread, in
	// anything it refers to. Only such references are ever followed.
	carries bool
	// excludes says the same of excluded permissions.
	excludes bool
	// marks is how many extensions of permissions were met so far.
	marks int
	refs  []string
	// unsure holds references from where no permission can work.
	conditionalRefs []string
	// reach is all that the definition leads to, itself too; nil until asked for.
	reach bits
	// misplaced names an extension that stands where none can work.
	misplaced string
}

// schema looks at s. Below anyOf and the like nothing says which of the schemas
// holds for a value, so a permission there would cover sometimes this and
// sometimes that.
//
// It says whether there is a permission or a reference in s.
func (f *scan) schema(s *spec.Schema, conditional bool) bool {
	// Most schemas are of scalars, and say nothing of what follows.
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

// properties gives those in which there is a permission or a reference, by name.
func (f *scan) properties(all map[string]spec.Schema, conditional bool) []field {
	// Declared in the loop, a value would be taken for something that outlives it; and a
	// schema is large.
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

// extensions says whether there is a permission in those of a schema.
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
		if conditional && (f.misplaced == "" || key < f.misplaced) {
			f.misplaced = key
		}
	}
	return candidate
}
