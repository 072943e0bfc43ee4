// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"fmt"
	"strings"

	gvkschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Models is a set of definitions made ready for compiling many trees. It is
// read-only and may be shared by any number of goroutines; the definitions must
// not be changed any more.
type Models struct {
	schemas     map[string]*spec.Schema
	expressions Expressions
	maxOnPath   int
}

// NewModels costs nothing, so it may be called for every kind. References among the
// definitions are resolved by the last segment of their path, so both #/definitions/x
// and #/components/schemas/x do.
func NewModels(definitions map[string]*spec.Schema, options ...Option) *Models {
	m := &Models{
		schemas:   definitions,
		maxOnPath: MaxPermissionsOnPath,
	}
	for _, option := range options {
		option(m)
	}
	return m
}

// ByKind compiles the tree of the definition that says, in
// x-kubernetes-group-version-kind, that it is the kind.
func (m *Models) ByKind(kind gvkschema.GroupVersionKind) (*Tree, error) {
	// An index would be the slower way: a few definitions, those of options and events,
	// list hundreds of kinds each, and a kind is looked up once.
	found, name := 0, ""
	for candidate, s := range m.schemas {
		if s != nil && says(s, kind) {
			found, name = found+1, candidate
		}
	}
	switch found {
	case 0:
		return nil, fmt.Errorf("schema: no definition for kind %s", kind)
	case 1:
		return m.Compile(name)
	}
	return nil, fmt.Errorf("schema: %d definitions for kind %s", found, kind)
}

// says whether a definition is that of a kind.
func says(s *spec.Schema, kind gvkschema.GroupVersionKind) bool {
	list, _ := s.Extensions[extKinds].([]any)
	for _, entry := range list {
		var group, version, name any
		switch e := entry.(type) {
		case map[string]any:
			group, version, name = e["group"], e["version"], e["kind"]
		case map[any]any:
			group, version, name = e["group"], e["version"], e["kind"]
		case map[string]string:
			group, version, name = e["group"], e["version"], e["kind"]
		}
		if name == kind.Kind && version == kind.Version && (group == kind.Group || group == nil && kind.Group == "") {
			return true
		}
	}
	return false
}

func refName(s *spec.Schema) string {
	ref := s.Ref.String()
	return ref[strings.LastIndexByte(ref, '/')+1:]
}
