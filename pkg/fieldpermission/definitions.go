// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldpermission

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/granular"

	"kube-granular.dev/granular/overlay"
)

// Definitions warns the authors of CustomResourceDefinitions, in addition to what Extensions does, of
// FieldPermissions that a new definition puts out of force, and of fields that it sets itself, or lets autoscalers set, although
// they are closed.
type Definitions struct {
	granular.Extensions
	// Index returns the index of the server, nil if it has none.
	Index func() *Index
}

// Warnings implements granular.Extensions. The definition is accepted in any case: the author of a
// FieldPermission does not decide about it.
func (d Definitions) Warnings(newCRD, oldCRD *apiextensions.CustomResourceDefinition) []string {
	out := d.Extensions.Warnings(newCRD, oldCRD)
	x := d.Index()
	if x == nil {
		return out
	}
	entries, _ := x.Entries(newCRD.Spec.Group, newCRD.Spec.Names.Plural)
	if entries == nil {
		return out
	}
	known := map[effect]bool{}
	if oldCRD != nil {
		for _, e := range effects(oldCRD, entries) {
			known[e] = true
		}
	}
	for _, e := range effects(newCRD, entries) {
		if !known[e] {
			known[e] = true
			out = append(out, e.text)
		}
	}
	return out
}

// effect is what a definition means for an entry. The mark is another one if that changes and the text does not.
type effect struct{ text, mark string }

// effects returns an effect for each entry that is not in force as it is written for a definition, and for each closed field
// that the definition sets.
func effects(internal *apiextensions.CustomResourceDefinition, entries *overlay.Entries) (out []effect) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := apiextensionsv1.Convert_apiextensions_CustomResourceDefinition_To_v1_CustomResourceDefinition(internal, crd, nil); err != nil {
		return nil
	}
	resource := CustomResource(crd)
	if !resource.Served(entries.Version) {
		return []effect{{text: fmt.Sprintf("FieldPermission %s is written for version %s, which is not served: its entries can't be applied",
			entries.Source, entries.Version)}}
	}
	models, err := resource.Models(entries.Version)
	if err != nil {
		return nil
	}
	_, outcomes, err := overlay.Apply(models, resource.In(entries.Version), entries, true)
	if err != nil {
		return nil
	}
	for i, o := range outcomes {
		text := fmt.Sprintf("FieldPermission %s gives %s the permission %s", entries.Source, o.Path, entries.Fields[i].Permission)
		switch {
		case o.State == overlay.Idle:
			out = append(out, effect{text: fmt.Sprintf("%s, which has no effect for this definition: %s", text, o.Reason)})
		case o.State == overlay.Degraded:
			out = append(out, effect{text: fmt.Sprintf("%s, which applies to the whole of %s for this definition: %s", text, o.Held, o.Reason)})
		}
	}
	return append(out, settings(crd, entries)...)
}

// settings returns an effect for each closed field that a definition sets in objects without a request for it, by a default or
// by a webhook that converts, and for one that its subresource scale lets autoscalers set.
func settings(crd *apiextensionsv1.CustomResourceDefinition, entries *overlay.Entries) (out []effect) {
	closed := false
	for i := range entries.Fields {
		f := &entries.Fields[i]
		closed = closed || f.Excluded
		for j := range crd.Spec.Versions {
			version := &crd.Spec.Versions[j]
			if !f.Excluded || version.Schema == nil {
				continue
			}
			if s := version.Subresources; s != nil && s.Scale != nil && setsReplicas(s.Scale, f.Path) {
				out = append(out, effect{text: fmt.Sprintf("FieldPermission %s closes %s, and horizontal-pod-autoscaler is not stopped: "+
					"it writes %s by the subresource scale for whoever may write autoscalers; close their bounds too",
					entries.Source, f.Path, s.Scale.SpecReplicasPath)})
			}
			if values := defaults(version.Schema.OpenAPIV3Schema, f.Path); len(values) > 0 {
				out = append(out, effect{mark: mark(values), text: fmt.Sprintf("FieldPermission %s closes %s, and a default of version %s sets it "+
					"in each object without it, whoever writes the object", entries.Source, f.Path, version.Name)})
			}
		}
	}
	if conversion := crd.Spec.Conversion; closed && conversion != nil && conversion.Webhook != nil && conversion.Webhook.ClientConfig != nil {
		address := *conversion.Webhook.ClientConfig
		address.CABundle = nil // it is renewed
		out = append(out, effect{mark: mark(address), text: fmt.Sprintf("FieldPermission %s closes fields, and the webhook that converts the objects "+
			"can change each of them", entries.Source)})
	}
	return out
}

// setsReplicas reports whether a path is that of the replicas, or of a field around them.
func setsReplicas(scale *apiextensionsv1.CustomResourceSubresourceScale, path overlay.Path) bool {
	replicas, err := overlay.ParsePath(scale.SpecReplicasPath)
	return err == nil && len(path) <= len(replicas) && slices.Equal(path, replicas[:len(path)])
}

// defaults returns the defaults of a field, of fields around it and of those inside, which set it.
func defaults(s *apiextensionsv1.JSONSchemaProps, path overlay.Path) (values []apiextensionsv1.JSON) {
	if s == nil {
		return nil
	}
	if s.Default != nil && contains(*s.Default, path) {
		values = append(values, *s.Default)
	}
	var elements []*apiextensionsv1.JSONSchemaProps
	if s.Items != nil {
		elements = append(elements, s.Items.Schema)
	}
	if s.AdditionalProperties != nil {
		elements = append(elements, s.AdditionalProperties.Schema)
	}
	rest := path
	if len(path) > 0 {
		rest = path[1:]
	}
	if len(path) == 0 || path[0].Every {
		for _, element := range elements {
			values = append(values, defaults(element, rest)...)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if len(path) == 0 || !path[0].Every && path[0].Name == name {
			property := s.Properties[name]
			values = append(values, defaults(&property, rest)...)
		}
	}
	return values
}

// contains reports whether a default has a value at a path, or could have one.
func contains(value apiextensionsv1.JSON, path overlay.Path) bool {
	if len(path) == 0 {
		return true
	}
	var below map[string]apiextensionsv1.JSON
	var elements []apiextensionsv1.JSON
	if json.Unmarshal(value.Raw, &below) != nil && json.Unmarshal(value.Raw, &elements) != nil {
		return false // it is neither an object nor a list
	}
	if !path[0].Every {
		element, ok := below[path[0].Name]
		return ok && contains(element, path[1:])
	}
	elements = append(elements, slices.Collect(maps.Values(below))...)
	return slices.ContainsFunc(elements, func(element apiextensionsv1.JSON) bool { return contains(element, path[1:]) })
}

// mark returns a text that is equal for equal values. It is compared, and shown to nobody.
func mark(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
