// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"fmt"
	"reflect"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// survey is one look through all definitions that a root refers to, before any of
// them is compiled.
type survey struct {
	scans map[string]*scan
	// promising are the maps of properties in which there is a permission, or a
	// reference to what may have one. All others are never looked at again.
	promising map[uintptr]bool
}

// survey looks through the definitions that are reached from root, and through
// that of the metadata every object has.
func (m *Models) survey(root string) *survey {
	s := &survey{scans: map[string]*scan{}, promising: map[uintptr]bool{}}
	usedBy := map[string][]*scan{}
	queue := []string{root, objectMetaDefault}
	for len(queue) > 0 {
		name := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		definition := m.schemas[name]
		if definition == nil || s.scans[name] != nil {
			continue
		}
		found := &scan{name: name, survey: s}
		found.schema(definition, false)
		s.scans[name] = found
		for _, ref := range found.refs {
			usedBy[ref] = append(usedBy[ref], found)
		}
		queue = append(queue, found.refs...)
	}
	s.spread(usedBy)
	return s
}

// spread hands on from every definition to those that refer to it, cycles
// included, that there is a permission, and an excluded one, in it.
func (s *survey) spread(usedBy map[string][]*scan) {
	var queue []string
	for name, found := range s.scans {
		if found.carries {
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

// check refuses a definition in which a permission stands where none can work.
func (s *survey) check(name string) error {
	found := s.scans[name]
	if found.misplaced != "" {
		return fmt.Errorf("definition %s: %s can't stand below anyOf, oneOf, not or a pattern", name, found.misplaced)
	}
	for _, ref := range found.unsure {
		if target := s.scans[ref]; target != nil && target.carries {
			return fmt.Errorf("definition %s: a permission of %s can't stand below anyOf, oneOf, not or a pattern", name, ref)
		}
	}
	return nil
}

// carry says whether there may be a permission in the schemas.
func (s *survey) carry(in layers) bool {
	for _, one := range in {
		if s.carries(one) {
			return true
		}
	}
	return false
}

func (s *survey) carries(in *spec.Schema) bool {
	if marked(in) {
		return true
	}
	if name := refName(in); name != "" {
		if target := s.scans[name]; target == nil || target.carries {
			return true
		}
	}
	if s.promising[identity(in.Properties)] {
		for _, p := range in.Properties {
			if s.valueCarries(p) {
				return true
			}
		}
	}
	for i := range in.AllOf {
		if s.carries(&in.AllOf[i]) {
			return true
		}
	}
	return in.AdditionalProperties != nil && in.AdditionalProperties.Schema != nil && s.carries(in.AdditionalProperties.Schema) ||
		in.Items != nil && in.Items.Schema != nil && s.carries(in.Items.Schema)
}

// valueCarries is carries for what lies in a map and has no address; see scan.value.
//
//go:noinline
func (s *survey) valueCarries(in spec.Schema) bool { return s.carries(&in) }

// identity tells maps apart, whatever is in them. Copies of a schema share theirs.
func identity(properties map[string]spec.Schema) uintptr {
	return reflect.ValueOf(properties).Pointer()
}
