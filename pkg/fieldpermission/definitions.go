// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package fieldpermission

import (
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/granular"

	"kube-granular.dev/granular/overlay"
)

// Definitions warns the authors of CustomResourceDefinitions, in addition to what Extensions does, of
// FieldPermissions that a new definition puts out of force.
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
	known := map[string]bool{}
	if oldCRD != nil {
		for _, text := range effects(oldCRD, entries) {
			known[text] = true
		}
	}
	for _, text := range effects(newCRD, entries) {
		if !known[text] {
			known[text] = true
			out = append(out, text)
		}
	}
	return out
}

// effects returns a text for each entry that is not in force as it is written for a definition.
func effects(internal *apiextensions.CustomResourceDefinition, entries *overlay.Entries) (out []string) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := apiextensionsv1.Convert_apiextensions_CustomResourceDefinition_To_v1_CustomResourceDefinition(internal, crd, nil); err != nil {
		return nil
	}
	resource := CustomResource(crd)
	if !resource.Served(entries.Version) {
		return []string{fmt.Sprintf("FieldPermission %s is written for version %s, which is not served: its entries can't be applied",
			entries.Source, entries.Version)}
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
			out = append(out, fmt.Sprintf("%s, which has no effect for this definition: %s", text, o.Reason))
		case o.State == overlay.Degraded:
			out = append(out, fmt.Sprintf("%s, which applies to the whole of %s for this definition: %s", text, o.Held, o.Reason))
		}
	}
	return out
}
