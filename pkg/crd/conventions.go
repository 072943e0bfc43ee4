// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"kube-granular.dev/granular/schema"
)

// None is the verb that an author gives a field that is to have no permission by convention.
const None = "none"

// byConvention is how many permissions conventions add to one path at most.
const byConvention = 3

// convention is a field of custom resources that the API's conventions give a meaning, or is
// above such fields.
type convention struct {
	// verb is the permission that the field has on built-in kinds.
	verb  string
	below map[string]*convention
}

// elements stands for the elements of a list, beside the names of fields.
const elements = "[*]"

// conventions returns those of a version whose scale subresource writes replicas, a path such
// as .spec.replicas, or has none.
func conventions(replicas string) *convention {
	root := &convention{below: map[string]*convention{
		"spec":   {verb: "specification"},
		"status": {verb: "status", below: map[string]*convention{"conditions": {verb: "conditions", below: map[string]*convention{elements: {verb: "condition"}}}}},
	}}
	if !strings.HasPrefix(replicas, ".spec.") {
		return root
	}
	at := root
	for name := range strings.SplitSeq(replicas[1:], ".") {
		if at.below == nil {
			at.below = map[string]*convention{}
		}
		if at.below[name] == nil {
			at.below[name] = &convention{}
		}
		at = at.below[name]
	}
	at.verb = "replicas"
	return root
}

// to returns the convention of a field below, nil if there is none on the way.
func (c *convention) to(name string) *convention {
	if c == nil {
		return nil
	}
	return c.below[name]
}

// Complete adds the permissions that fields have by convention to the model of a version, where
// its author gave none: those that the same fields have on built-in kinds.
//
//	.spec                  specification
//	.status                status
//	.status.conditions     conditions, and condition(TYPE) where it is a map by type
//	what the scale writes  replicas
//
// All of them are included in update. A permission that the author uses anywhere in the version
// means what the author says, and is added nowhere. The verb "none" at one of the fields, or at the
// root, keeps them from it and from what is below; it is taken out of the model.
func (v *Validator) Complete(crd *v1.CustomResourceDefinition, version string, model *spec.Schema) {
	for i := range crd.Spec.Versions {
		if of := &crd.Spec.Versions[i]; of.Name == version {
			replicas := ""
			if of.Subresources != nil && of.Subresources.Scale != nil {
				replicas = of.Subresources.Scale.SpecReplicasPath
			}
			complete(model, conventions(replicas))
		}
	}
}

// replicasOf returns what the scale subresource of a version writes.
func replicasOf(crd *apiextensions.CustomResourceDefinition, version *apiextensions.CustomResourceDefinitionVersion) string {
	of := version.Subresources
	if of == nil {
		of = crd.Spec.Subresources // shared by all versions
	}
	if of == nil || of.Scale == nil {
		return ""
	}
	return of.Scale.SpecReplicasPath
}

// complete changes a model that nobody else has. Without conventions it does nothing.
func complete(root *spec.Schema, of *convention) {
	if of == nil {
		return
	}
	c := completion{used: map[string]bool{}}
	c.note(root)
	c.visit(root, of, false)
}

// completion knows which names the author of a version uses.
type completion struct{ used map[string]bool }

// note collects the verbs and parameters of a model.
func (c completion) note(s *spec.Schema) {
	for _, key := range []string{schema.ExtVerb, schema.ExtSource} {
		if name, ok := s.Extensions[key].(string); ok {
			c.used[name] = true
		}
	}
	for name := range s.Properties {
		property := s.Properties[name]
		c.note(&property)
	}
	if s.Items != nil && s.Items.Schema != nil {
		c.note(s.Items.Schema)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		c.note(s.AdditionalProperties.Schema)
	}
}

// visit goes to the fields that conventions are about. Off says that the author wants none from
// here on.
func (c completion) visit(s *spec.Schema, of *convention, off bool) {
	if verb, said := s.Extensions[schema.ExtVerb]; said && verb == None {
		delete(s.Extensions, schema.ExtVerb)
		off = true
	}
	if !off {
		c.add(s, of.verb)
	}
	for name, below := range of.below {
		if property, ok := s.Properties[name]; ok {
			c.visit(&property, below, off)
			s.Properties[name] = property
		}
	}
	if of.to(elements) != nil && s.Items != nil && s.Items.Schema != nil {
		c.condition(s, s.Items.Schema, off)
	}
}

// add gives a field a permission if the author says nothing of it, and uses the name nowhere
// else. It reports whether it did.
func (c completion) add(s *spec.Schema, verb string) bool {
	_, said := s.Extensions[schema.ExtVerb]
	_, excluded := s.Extensions[schema.ExtExcluded]
	if verb == "" || said || excluded || c.used[verb] || verb == "replicas" && !s.Type.Contains("integer") {
		return false
	}
	s.AddExtension(schema.ExtVerb, verb)
	return true
}

// condition gives single conditions a permission where the list of them is a map by type.
func (c completion) condition(list, element *spec.Schema, off bool) {
	if verb := element.Extensions[schema.ExtVerb]; verb == None {
		delete(element.Extensions, schema.ExtVerb)
		off = true
	}
	const source = "condition-type"
	key, ok := element.Properties["type"]
	_, taken := key.Extensions[schema.ExtSource]
	if off || !ok || taken || c.used[source] || !key.Type.Contains("string") || !isMapByType(list) || !c.add(element, "condition") {
		return
	}
	key.AddExtension(schema.ExtSource, source)
	element.Properties["type"] = key
	element.AddExtension(schema.ExtParameterized, source)
}

func isMapByType(s *spec.Schema) bool {
	if kind, _ := s.Extensions.GetString("x-kubernetes-list-type"); kind != "map" {
		return false
	}
	keys, _ := s.Extensions["x-kubernetes-list-map-keys"].([]string)
	return slices.Equal(keys, []string{"type"})
}

// isNone reports whether an author wants no permission by convention, and says nothing else.
func isNone(s *apiextensions.JSONSchemaProps) bool {
	if s.XPermissionVerb == nil || *s.XPermissionVerb != None {
		return false
	}
	rest := *s
	rest.XPermissionVerb = nil
	return !rest.HasPermissionExtension()
}

// nones finds the verb "none" where no convention is about the field.
func nones(version *version) field.ErrorList {
	var errs field.ErrorList
	visit(version.schema, version.path, func(s *apiextensions.JSONSchemaProps, path *field.Path) bool {
		if s.XPermissionVerb != nil && *s.XPermissionVerb == None && !version.conventional(path) {
			errs = append(errs, field.Invalid(path.Child(schema.ExtVerb), None,
				"only a field that has a permission by convention can be kept from it: the root, spec, status, its conditions, and what the scale subresource writes"))
		}
		return true
	})
	return errs
}

// conventional reports whether a convention is about the schema at a path, or about one below.
func (v *version) conventional(path *field.Path) bool {
	var reach func(at *field.Path, s *apiextensions.JSONSchemaProps, of *convention) bool
	reach = func(at *field.Path, s *apiextensions.JSONSchemaProps, of *convention) bool {
		if s == nil || of == nil {
			return false
		}
		if at.String() == path.String() {
			return true
		}
		for name, below := range of.below {
			if name == elements {
				if reach(at.Child("items"), items(s), below) {
					return true
				}
			} else if reach(at.Child("properties").Key(name), property(s, name), below) {
				return true
			}
		}
		return false
	}
	return reach(v.path, v.schema, v.of)
}
