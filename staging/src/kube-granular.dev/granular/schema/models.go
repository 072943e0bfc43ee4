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
	byKind      map[gvkschema.GroupVersionKind][]string
	expressions Expressions
	maxOnPath   int
}

// NewModels finds the kinds among the definitions. References among them are
// resolved by the last segment of their path, so both #/definitions/x and
// #/components/schemas/x do.
func NewModels(definitions map[string]*spec.Schema, options ...Option) *Models {
	m := &Models{
		schemas:   definitions,
		byKind:    map[gvkschema.GroupVersionKind][]string{},
		maxOnPath: MaxPermissionsOnPath,
	}
	for _, option := range options {
		option(m)
	}
	for name, s := range definitions {
		if s == nil {
			continue
		}
		for _, kind := range kindsOf(s) {
			m.byKind[kind] = append(m.byKind[kind], name)
		}
	}
	return m
}

// ByKind compiles the tree of the definition that says, in
// x-kubernetes-group-version-kind, that it is the kind.
func (m *Models) ByKind(kind gvkschema.GroupVersionKind) (*Tree, error) {
	names := m.byKind[kind]
	switch len(names) {
	case 0:
		return nil, fmt.Errorf("schema: no definition for kind %s", kind)
	case 1:
		return m.Compile(names[0])
	}
	return nil, fmt.Errorf("schema: %d definitions for kind %s", len(names), kind)
}

func kindsOf(s *spec.Schema) []gvkschema.GroupVersionKind {
	list, _ := s.Extensions[extKinds].([]any)
	var out []gvkschema.GroupVersionKind
	for _, entry := range list {
		var kind gvkschema.GroupVersionKind
		switch e := entry.(type) {
		case map[string]any:
			kind.Group, _ = e["group"].(string)
			kind.Version, _ = e["version"].(string)
			kind.Kind, _ = e["kind"].(string)
		case map[any]any:
			kind.Group, _ = e["group"].(string)
			kind.Version, _ = e["version"].(string)
			kind.Kind, _ = e["kind"].(string)
		case map[string]string:
			kind.Group, kind.Version, kind.Kind = e["group"], e["version"], e["kind"]
		}
		if kind.Kind != "" {
			out = append(out, kind)
		}
	}
	return out
}

func refName(s *spec.Schema) string {
	ref := s.Ref.String()
	return ref[strings.LastIndexByte(ref, '/')+1:]
}
