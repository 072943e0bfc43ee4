// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package corpus

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	gvkschema "k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// Decision is what comes of a scenario.
type Decision string

const (
	Allow     Decision = "Allow"
	Forbidden Decision = "Forbidden"
)

// Object is decoded as the API server decodes a custom resource: whole numbers
// are int64.
type Object map[string]any

// UnmarshalJSON keeps whole numbers whole.
func (o *Object) UnmarshalJSON(data []byte) error {
	return utiljson.Unmarshal(data, (*map[string]any)(o))
}

// Scenario is one request and its verdict; see the package comment.
type Scenario struct {
	Name     string   `json:"name"`
	Kind     string   `json:"kind"`
	Old      Object   `json:"old,omitempty"`
	New      Object   `json:"new"`
	Final    Object   `json:"final,omitempty"`
	Unmarked bool     `json:"unmarked,omitempty"`
	Grants   []string `json:"grants,omitempty"`
	Decision Decision `json:"decision"`
	Asked    []string `json:"asked,omitempty"`
	Field    string   `json:"field,omitempty"`
	Needs    string   `json:"needs,omitempty"`

	// File is where the scenario was read from.
	File string `json:"-"`
}

// GVK gives the kind, written as apps/v1 Deployment or v1 Pod.
func (s *Scenario) GVK() gvkschema.GroupVersionKind {
	version, kind, _ := strings.Cut(s.Kind, " ")
	gv, _ := gvkschema.ParseGroupVersion(version)
	return gv.WithKind(kind)
}

// Load reads every .yaml file of a folder. Unknown fields, doubled names and
// scenarios that contradict themselves are errors.
func Load(dir string) ([]Scenario, error) {
	out, err := read(dir)
	for i := range out {
		if err := out[i].validate(); err != nil {
			return nil, fmt.Errorf("%s: scenario %q: %w", out[i].File, out[i].Name, err)
		}
	}
	return out, err
}

func read(dir string) ([]Scenario, error) {
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
		}
		out = append(out, scenarios...)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no scenarios in %s", dir)
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
	}
	return nil
}
