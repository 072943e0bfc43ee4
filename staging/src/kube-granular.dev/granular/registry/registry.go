// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	_ "embed"
	"fmt"
	"sync"

	"sigs.k8s.io/yaml"
)

// Registry has the permissions of all built-in kinds. It is read-only.
type Registry struct {
	// Permissions are sorted by name.
	Permissions []Permission `json:"permissions"`
	// Kinds are the kinds that Place.Kinds refers to, sorted by group, kind and version.
	Kinds []Kind `json:"kinds"`
}

// Permission is one permission of built-in kinds.
type Permission struct {
	// Name includes the scope, as in podTemplateLabels.
	Name string `json:"name"`
	// Meaning describes the permission in one line.
	Meaning string `json:"meaning"`
	// Scope is the scope that the name begins with, if any.
	Scope string `json:"scope,omitempty"`
	// Excluded is set if the permission is not part of update.
	Excluded bool `json:"excluded"`
	// Parameter is nil if the verb takes no parameter.
	Parameter *Parameter `json:"parameter,omitempty"`
	Places    []Place    `json:"places"`
}

// Parameter describes the text between the parentheses of the verb.
type Parameter struct {
	// Source names the source of the parameter, such as label-key.
	Source string `json:"source"`
	// Treatment is how the parameter is made from the source. It is empty if the source is used as
	// it is.
	Treatment string `json:"treatment,omitempty"`
}

// Place is a field that a permission covers, with everything below it.
type Place struct {
	// Path is the path of the field, such as .metadata.labels[*].
	Path string `json:"path"`
	// Above are the names of the more general permissions that cover the field too, most general
	// first.
	Above []string `json:"above,omitempty"`
	// Kinds are the kinds that have the field, such as "apps/v1 Deployment". The entry All stands
	// for every kind.
	Kinds []string `json:"kinds"`
}

// All is the entry of Place.Kinds for every kind of the registry.
const All = "*"

// Kind is one kind in one version.
type Kind struct {
	Kind string `json:"kind"`
	// Resources are the resources of the kind, as a role names them, such as
	// deployments.apps/scale.
	Resources []string `json:"resources"`
}

//go:embed permissions.yaml
var data []byte

type index struct {
	Registry
	byName map[string]*Permission
}

var load = parseOnce(data)

// parseOnce returns a function that parses the data when it is first called.
func parseOnce(data []byte) func() (*index, error) {
	return sync.OnceValues(func() (*index, error) {
		out := &index{byName: map[string]*Permission{}}
		if err := yaml.UnmarshalStrict(data, &out.Registry); err != nil {
			return nil, fmt.Errorf("registry: permissions.yaml: %w", err)
		}
		for i := range out.Permissions {
			out.byName[out.Permissions[i].Name] = &out.Permissions[i]
		}
		return out, nil
	})
}

// Load returns the registry. It returns an error only if the embedded data is broken.
func Load() (*Registry, error) {
	i, err := load()
	if err != nil {
		return nil, err
	}
	return &i.Registry, nil
}

// Lookup returns the permission with a name, which includes the scope. It returns nil if no
// built-in kind has a permission with this name.
func Lookup(name string) (*Permission, error) {
	i, err := load()
	if err != nil {
		return nil, err
	}
	return i.byName[name], nil
}
