// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldplan

import (
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube-granular.dev/api/authority/validation"
	"kube-granular.dev/granular/overlay"
	"kube-granular.dev/pkg/cli/kinds"
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

// addIndirect adds the controllers that write the excluded fields for others.
func (p *Plan) addIndirect() {
	resource := validation.ResourceOf(p.FieldPermission)
	for i := range p.Entries {
		e := &p.Entries[i]
		if !e.Excluded {
			continue
		}
		for _, w := range overlay.WrittenFor(schema.GroupResource(resource), e.path) {
			e.WrittenBy = append(e.WrittenBy, fmt.Sprintf("%s, from %s", w.By, w.Sources()))
		}
	}
}

// shape is what the specification of a kind looks like, by which it is found in the definitions of others.
type shape struct {
	// fields are the names of its fields, and closed the paths of excluded fields, from the specification.
	fields []string
	closed []overlay.Path
	// pod is set for pods: a list of containers with images is enough.
	pod bool
}

// shapeOf returns the shape of a kind, nil if no exclusion is in its specification.
func shapeOf(k *kinds.Kind, entries *overlay.Entries) *shape {
	out := &shape{pod: entries.Source == overlay.Pods.String()}
	for i := range entries.Fields {
		if f := &entries.Fields[i]; f.Excluded && f.Path[0].Name == specification {
			out.closed = append(out.closed, f.Path[1:])
		}
	}
	if out.closed == nil {
		return nil
	}
	for _, top := range k.Root().Fields() {
		if top.Name == specification {
			for _, f := range top.Fields() {
				out.fields = append(out.fields, f.Name)
			}
		}
	}
	return out
}

const specification = "spec"

// minFields is the least number of fields that a schema must share with a specification to look like it.
const minFields = 2

// contains reports whether a schema looks like the specification: it has an excluded field, and at least half
// of the other fields.
func (s *shape) contains(in *apiextensionsv1.JSONSchemaProps) bool {
	if s.pod && hasImages(in) {
		return true
	}
	shared := 0
	for _, name := range s.fields {
		if _, ok := in.Properties[name]; ok {
			shared++
		}
	}
	closed := func(path overlay.Path) bool { return leads(in, path) }
	return shared >= max(minFields, (len(s.fields)+1)/2) && slices.ContainsFunc(s.closed, closed)
}

// leads reports whether a schema has a path, or an object without a schema on the way.
func leads(s *apiextensionsv1.JSONSchemaProps, path overlay.Path) bool {
	switch {
	case s == nil:
		return false
	case len(path) == 0 || s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields:
		return true
	case !path[0].Every:
		below, ok := s.Properties[path[0].Name]
		return ok && leads(&below, path[1:])
	case s.Items != nil:
		return leads(s.Items.Schema, path[1:])
	}
	return s.AdditionalProperties != nil && leads(s.AdditionalProperties.Schema, path[1:])
}

// hasImages reports whether a schema has a field containers, which is a list of objects with a field image.
func hasImages(s *apiextensionsv1.JSONSchemaProps) bool {
	containers, ok := s.Properties["containers"]
	if !ok || containers.Items == nil || containers.Items.Schema == nil {
		return false
	}
	_, ok = containers.Items.Schema.Properties["image"]
	return ok
}

// LooksForTemplates reports whether the plan needs the definitions of custom resources.
func (p *Plan) LooksForTemplates() bool { return p.shape != nil }

// AddDefinition adds a custom resource to NotHeldIn if a served version contains what looks like the
// specification of the kind: an operator may make objects from it. It adds the custom resource to NotSeenIn if
// it keeps whole objects, or a template, without a schema.
func (p *Plan) AddDefinition(crd *apiextensionsv1.CustomResourceDefinition) {
	name := fmt.Sprintf("%s.%s", crd.Spec.Names.Plural, crd.Spec.Group)
	if p.shape == nil || name == p.FieldPermission {
		return
	}
	looks := func(_ string, s *apiextensionsv1.JSONSchemaProps) bool { return p.shape.contains(s) }
	for _, v := range crd.Spec.Versions {
		if !v.Served || v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
			continue
		}
		if path, ok := find(v.Schema.OpenAPIV3Schema, "", "", looks); ok {
			p.NotHeldIn = sorted(append(p.NotHeldIn, name+" in "+path))
			return
		}
		if path, ok := find(v.Schema.OpenAPIV3Schema, "", "", isOpaque); ok {
			p.NotSeenIn = sorted(append(p.NotSeenIn, name+" in "+path))
			return
		}
	}
}

func sorted(names []string) []string {
	slices.Sort(names)
	return names
}

// isOpaque reports whether a field keeps a whole object, or a template, without a schema.
func isOpaque(name string, s *apiextensionsv1.JSONSchemaProps) bool {
	if s.XPreserveUnknownFields == nil || !*s.XPreserveUnknownFields || len(s.Properties[specification].Properties) > 0 {
		return false
	}
	return s.XEmbeddedResource || strings.HasSuffix(strings.ToLower(strings.TrimSuffix(name, "s")), "template")
}

// find returns the path of the first place of a schema for which is returns true. name is that of the nearest
// field.
func find(
	s *apiextensionsv1.JSONSchemaProps, path, name string, is func(name string, s *apiextensionsv1.JSONSchemaProps) bool,
) (string, bool) {
	if s == nil {
		return "", false
	}
	if path != "" && is(name, s) {
		return path, true
	}
	var names []string
	for below := range s.Properties {
		names = append(names, below)
	}
	slices.Sort(names)
	for _, below := range names {
		property := s.Properties[below]
		if found, ok := find(&property, path+"."+below, below, is); ok {
			return found, true
		}
	}
	if s.Items != nil {
		if found, ok := find(s.Items.Schema, path+"[*]", name, is); ok {
			return found, true
		}
	}
	if s.AdditionalProperties != nil {
		return find(s.AdditionalProperties.Schema, path+"[*]", name, is)
	}
	return "", false
}
