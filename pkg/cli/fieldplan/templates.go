// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldplan

import (
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"kube-granular.dev/granular/overlay"
)

// addTemplates adds the resources in whose pod templates entries of pods hold.
func (p *Plan) addTemplates(entries *overlay.Entries) {
	if entries.Source != overlay.Pods.String() {
		return
	}
	for _, resource := range overlay.HoldsIn() {
		if overlay.InForce(resource, nil, entries) != nil {
			p.Templates = append(p.Templates, resource.String())
		}
	}
}

// AddDefinition adds a custom resource to NotHeldIn if entries of pods would hold in it if it were built in: if
// a version has a list of containers with images.
func (p *Plan) AddDefinition(crd *apiextensionsv1.CustomResourceDefinition) {
	if len(p.Templates) == 0 {
		return
	}
	for _, v := range crd.Spec.Versions {
		if v.Served && v.Schema != nil && hasContainers(v.Schema.OpenAPIV3Schema) {
			p.NotHeldIn = append(p.NotHeldIn, fmt.Sprintf("%s.%s", crd.Spec.Names.Plural, crd.Spec.Group))
			slices.Sort(p.NotHeldIn)
			return
		}
	}
}

// hasContainers reports whether a schema has a field containers at any depth, which is a list of objects with
// a field image.
func hasContainers(s *apiextensionsv1.JSONSchemaProps) bool {
	if s == nil {
		return false
	}
	if containers, ok := s.Properties["containers"]; ok && containers.Items != nil && containers.Items.Schema != nil {
		if _, ok := containers.Items.Schema.Properties["image"]; ok {
			return true
		}
	}
	for name := range s.Properties {
		below := s.Properties[name]
		if hasContainers(&below) {
			return true
		}
	}
	return s.Items != nil && hasContainers(s.Items.Schema) || s.AdditionalProperties != nil && hasContainers(s.AdditionalProperties.Schema)
}
