// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package corpus

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	gvkschema "k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// Decision is the expected decision about the request of a scenario.
type Decision string

const (
	Allow     Decision = "Allow"
	Forbidden Decision = "Forbidden"
)

// Ways are the ways to send a change to a server. The last way creates an object, the others change
// an object that exists.
var Ways = []string{"put", "merge", "strategic", "json", "apply", "post"}

// Object is an object decoded as the API server decodes a custom resource: whole numbers are
// int64.
type Object map[string]any

// UnmarshalJSON decodes whole numbers as int64.
func (o *Object) UnmarshalJSON(data []byte) error {
	return utiljson.Unmarshal(data, (*map[string]any)(o))
}

// Scenario is one request and its expected result; see the package comment.
type Scenario struct {
	Name     string   `json:"name"`
	Kind     string   `json:"kind"`
	Old      Object   `json:"old,omitempty"`
	New      Object   `json:"new"`
	Final    Object   `json:"final,omitempty"`
	Unmarked bool     `json:"unmarked,omitempty"`
	Grants   []string `json:"grants,omitempty"`

	Subresource string   `json:"subresource,omitempty"`
	Reset       bool     `json:"reset,omitempty"`
	Ways        []string `json:"ways,omitempty"`
	Answer      int      `json:"answer,omitempty"`
	LibraryOnly string   `json:"libraryOnly,omitempty"`

	Decision Decision `json:"decision"`
	Asked    []string `json:"asked,omitempty"`
	Field    string   `json:"field,omitempty"`
	Needs    string   `json:"needs,omitempty"`

	// File is the file that the scenario was read from.
	File string `json:"-"`
}

// GVK parses the kind, such as apps/v1 Deployment or v1 Pod.
func (s *Scenario) GVK() gvkschema.GroupVersionKind {
	version, kind, _ := strings.Cut(s.Kind, " ")
	gv, _ := gvkschema.ParseGroupVersion(version)
	return gv.WithKind(kind)
}

// Load reads every .yaml file of a folder. It returns an error for unknown fields, duplicate names
// and scenarios whose fields contradict each other.
func Load(dir string) ([]Scenario, error) {
	out, err := Read(dir)
	for i := range out {
		if err := out[i].validate(); err != nil {
			return nil, fmt.Errorf("%s: scenario %q: %w", out[i].File, out[i].Name, err)
		}
	}
	return out, err
}

// Read is Load for scenarios that have no expected result yet. It does not check whether the fields
// of a scenario are complete and fit together.
func Read(dir string) ([]Scenario, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, err
	}
	var out []Scenario
	names := map[string]bool{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var scenarios []Scenario
		if err := yaml.UnmarshalStrict(data, &scenarios); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		for i := range scenarios {
			s := &scenarios[i]
			s.File = file
			if names[s.Name] {
				return nil, fmt.Errorf("%s: scenario %q is there twice", file, s.Name)
			}
			names[s.Name] = true
			if err := s.complete(dir); err != nil {
				return nil, fmt.Errorf("%s: scenario %q: %w", file, s.Name, err)
			}
		}
		out = append(out, scenarios...)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no scenarios in %s", dir)
	}
	return out, nil
}

// complete overlays the objects of a scenario on the base object of its kind.
func (s *Scenario) complete(dir string) error {
	gvk := s.GVK()
	base, err := readBase(filepath.Join(dir, "base", strings.ToLower(gvk.Kind)+".yaml"))
	if err != nil {
		return err
	}
	for _, object := range []*Object{&s.Old, &s.New, &s.Final} {
		if *object != nil {
			*object = Overlay(base, *object)
		}
	}
	return nil
}

// readBase returns nil for a kind that has no base object.
func readBase(file string) (Object, error) {
	data, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out Object
	if err := yaml.UnmarshalStrict(data, &out); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return out, nil
}

func (s *Scenario) validate() error {
	refused := s.Field != "" && s.Needs != ""
	switch {
	case s.Name == "" || s.GVK().Kind == "" || s.New == nil:
		return fmt.Errorf("name, kind and new are needed")
	case s.Decision != Allow && s.Decision != Forbidden:
		return fmt.Errorf("decision must be %s or %s", Allow, Forbidden)
	case refused != (s.Decision == Forbidden):
		return fmt.Errorf("field and needs belong to a refusal, and it needs both")
	case s.Reset && s.Final == nil:
		return fmt.Errorf("reset is set, but final is missing: reset says how final came about")
	}
	for _, way := range s.Ways {
		if !slices.Contains(Ways, way) {
			return fmt.Errorf("%q is not a way to send a change: %v", way, Ways)
		}
	}
	return nil
}
