// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"fmt"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// definitionStack has the definitions that were entered on the way from the root.
type definitionStack struct {
	above *definitionStack
	name  string
}

func (t *definitionStack) has(name string) bool {
	for ; t != nil; t = t.above {
		if t.name == name {
			return true
		}
	}
	return false
}

// expansion collects all schemas that apply to one field: it follows references and allOf. The
// field's own schema comes first.
type expansion struct {
	definitions definitions
	// follow reports whether to enter a definition. No definition is entered twice.
	follow  func(name string) (bool, error)
	entered *definitionStack
	out     layers
	// first is the first definition that a schema refers to, entered or not.
	first string
}

func (e *expansion) all(schemas layers) error {
	e.out = make(layers, 0, len(schemas)+1)
	for _, s := range schemas {
		if err := e.add(s); err != nil {
			return err
		}
	}
	return nil
}

func (e *expansion) add(s *spec.Schema) error {
	e.out = append(e.out, s)
	if name := refName(s); name != "" {
		if err := e.enter(name); err != nil {
			return err
		}
	}
	for i := range s.AllOf {
		if err := e.add(&s.AllOf[i]); err != nil {
			return err
		}
	}
	return nil
}

func (e *expansion) enter(name string) error {
	if e.first == "" {
		e.first = name
	}
	if follow, err := e.follow(name); err != nil || !follow || e.entered.has(name) {
		return err
	}
	s := e.definitions[name]
	if s == nil {
		return fmt.Errorf("definition %s is missing", name)
	}
	e.entered = &definitionStack{above: e.entered, name: name}
	return e.add(s)
}
