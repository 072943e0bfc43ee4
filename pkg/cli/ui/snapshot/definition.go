// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"kube-granular.dev/granular/decide"
	"kube-granular.dev/granular/registry"
	"kube-granular.dev/granular/schema"
	"kube-granular.dev/pkg/cli/kinds"
	"kube-granular.dev/pkg/cli/ui/model"
)

// addDefinition adds a custom resource by its definition, in its storage version.
func (m *maker) addDefinition(d *apiextensionsv1.CustomResourceDefinition) error {
	storage := slices.IndexFunc(d.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Storage })
	if storage < 0 {
		return fmt.Errorf("definition %s: spec.versions: no version is stored", d.Name)
	}
	version := &d.Spec.Versions[storage]
	out := model.Kind{
		Group: d.Spec.Group, Version: version.Name, Kind: d.Spec.Names.Kind, Resource: d.Spec.Names.Plural, ShortNames: d.Spec.Names.ShortNames,
		Namespaced: d.Spec.Scope == apiextensionsv1.NamespaceScoped, Parts: []model.Part{{}},
	}
	if version.Subresources != nil && version.Subresources.Status != nil {
		out.Parts = append(out.Parts, model.Part{Name: "status"})
	}
	places, err := definedPlaces(version)
	if err != nil {
		return fmt.Errorf("definition %s: version %s: %w", d.Name, version.Name, err)
	}
	all, err := registry.Load()
	if err != nil {
		return err
	}
	t := newTarget()
	out.Root, out.Excluded = m.addPlaces(slices.Concat(registryPlaces(all)[registry.All], places), t)
	out.Rank = rankOf(groupResource(&out), out.Excluded)
	m.addKind(out, t)
	return nil
}

// definedPlaces returns the places of permissions that a version of a definition declares.
func definedPlaces(version *apiextensionsv1.CustomResourceDefinitionVersion) ([]place, error) {
	if version.Schema == nil || version.Schema.OpenAPIV3Schema == nil {
		return nil, nil
	}
	data, err := json.Marshal(version.Schema.OpenAPIV3Schema)
	if err != nil {
		return nil, err
	}
	root := &spec.Schema{}
	if err := json.Unmarshal(data, root); err != nil {
		return nil, errors.New("the schema can't be read")
	}
	compiled, err := schema.NewModels(map[string]*spec.Schema{"root": root}, schema.WithExpressions(kinds.ServerComputed{})).Compile("root")
	if err != nil {
		return nil, fmt.Errorf("the schema has permissions that a server refuses; kubectl granular lint shows which: %w", err)
	}
	var out []place
	for position := range compiled.NodePaths() {
		if len(position.Node().Own()) == 0 {
			continue
		}
		one := place{}
		for _, step := range position.Steps() {
			name := step.Field
			if step.Elem {
				name = "[*]"
			}
			one.steps = append(one.steps, name)
		}
		var cover []*schema.Permission
		cover, one.excluded = decide.Candidates(position.Node())
		for _, p := range cover {
			one.cover = append(one.cover, verbOf(p))
		}
		for _, p := range position.Node().Own() {
			one.own = append(one.own, verbOf(p))
		}
		out = append(out, one)
	}
	return out, nil
}
