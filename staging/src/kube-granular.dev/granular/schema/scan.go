// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"fmt"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// scan is what one look through a definition found, references not followed.
type scan struct {
	name string
	// carries says that a permission is in the definition or, after spread, in
	// anything it refers to. Only such references are ever followed.
	carries bool
	// excludes says the same of excluded permissions.
	excludes bool
	refs     []string
	// unsure holds references from where no permission can work.
	unsure []string
	// misplaced names an extension that stands where none can work.
	misplaced string
}

// schema looks at s. Below anyOf and the like nothing says which of the schemas
// holds for a value, so a permission there would cover sometimes this and
// sometimes that.
func (f *scan) schema(s *spec.Schema, unsure bool) {
	for key := range s.Extensions {
		if !strings.HasPrefix(key, extPrefix) {
			continue
		}
		f.carries = true
		if excluded, err := (layers{s}).excluded(); err != nil || excluded {
			f.excludes = true
		}
		if unsure && (f.misplaced == "" || key < f.misplaced) {
			f.misplaced = key
		}
	}
	if ref := refName(s); ref != "" {
		f.refs = append(f.refs, ref)
		if unsure {
			f.unsure = append(f.unsure, ref)
		}
	}
	for name := range s.Properties {
		p := s.Properties[name]
		f.schema(&p, unsure)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		f.schema(s.AdditionalProperties.Schema, unsure)
	}
	if s.Items != nil && s.Items.Schema != nil {
		f.schema(s.Items.Schema, unsure)
	}
	for i := range s.AllOf {
		f.schema(&s.AllOf[i], unsure)
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
	for name := range s.PatternProperties {
		p := s.PatternProperties[name]
		f.schema(&p, true)
	}
	if s.Items != nil {
		for i := range s.Items.Schemas {
			f.schema(&s.Items.Schemas[i], true)
		}
	}
	if s.AdditionalItems != nil && s.AdditionalItems.Schema != nil {
		f.schema(s.AdditionalItems.Schema, true)
	}
}

// check refuses a definition in which a permission stands where none can work.
func (m *Models) check(name string) error {
	found := m.scans[name]
	if found.misplaced != "" {
		return fmt.Errorf("definition %s: %s can't stand below anyOf, oneOf, not or a pattern", name, found.misplaced)
	}
	for _, ref := range found.unsure {
		if target := m.scans[ref]; target != nil && target.carries {
			return fmt.Errorf("definition %s: a permission of %s can't stand below anyOf, oneOf, not or a pattern", name, ref)
		}
	}
	return nil
}
