// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"errors"
	"fmt"
	"strings"

	gvkschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// ErrNoDefinition means that no definition lists the kind that Models.ByKind looks for.
var ErrNoDefinition = errors.New("no definition")

// definitions are schemas by name. They refer to each other by these names.
type definitions map[string]*spec.Schema

// Models is a set of definitions from which many trees are compiled. It may be shared by any
// number of goroutines. The definitions must not be changed afterwards.
type Models struct {
	definitions definitions
	expressions Expressions
	maxOnPath   int
	interner    *Interner
	source      func() map[string]*spec.Schema
	// uncached disables the cache and the interner, for tests.
	uncached bool
}

// NewModels returns the Models of some definitions. It is cheap, so it may be called for every
// kind. References are resolved by the last segment of their path, so both #/definitions/x and
// #/components/schemas/x resolve to x.
func NewModels(definitions map[string]*spec.Schema, options ...Option) *Models {
	m := &Models{definitions: definitions, maxOnPath: MaxPermissionsOnPath}
	for _, option := range options {
		option(m)
	}
	if m.interner == nil {
		m.interner = NewInterner()
	}
	return m
}

// ByKind compiles the tree of the definition whose x-kubernetes-group-version-kind lists the kind.
// It returns an error that wraps ErrNoDefinition if there is none.
func (m *Models) ByKind(kind gvkschema.GroupVersionKind) (*Tree, error) {
	name, err := m.Definition(kind)
	if err != nil {
		return nil, err
	}
	return m.Compile(name)
}

// Definition returns the name of the definition whose x-kubernetes-group-version-kind lists the
// kind. It returns an error that wraps ErrNoDefinition if there is none.
func (m *Models) Definition(kind gvkschema.GroupVersionKind) (string, error) {
	// This loop is faster than an index by kind: each kind is looked up only once, and the index
	// would be large, because a few definitions, such as DeleteOptions and WatchEvent, list
	// hundreds of kinds each.
	found, name := 0, ""
	for candidate, s := range m.definitions {
		if s != nil && definesKind(s, kind) {
			found, name = found+1, candidate
		}
	}
	switch found {
	case 0:
		return "", fmt.Errorf("schema: %w for kind %s", ErrNoDefinition, kind)
	case 1:
		return name, nil
	}
	return "", fmt.Errorf("schema: %d definitions for kind %s", found, kind)
}

// definesKind reports whether x-kubernetes-group-version-kind of a definition has a kind.
func definesKind(s *spec.Schema, kind gvkschema.GroupVersionKind) bool {
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

// unescaped are the bytes that are never escaped in a reference.
const unescaped = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_"

// refName returns the last segment of a reference, empty if there is no reference. In the usual
// case, a fragment without escapes, it does not call Ref.String, which allocates.
func refName(s *spec.Schema) string {
	url := s.Ref.GetURL()
	if url == nil {
		return ""
	}
	if i := strings.LastIndexByte(url.Fragment, '/'); i >= 0 && url.RawFragment == "" && strings.Trim(url.Fragment[i+1:], unescaped) == "" {
		return url.Fragment[i+1:]
	}
	ref := s.Ref.String()
	return ref[strings.LastIndexByte(ref, '/')+1:]
}
