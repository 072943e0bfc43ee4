// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
)

const (
	finalizersField = ".metadata.finalizers"
	conditionsField = ".status.conditions"
	namesField      = ".status.acceptedNames.plural"
)

// StatusOpenings returns what newCRD, an update of the status of oldCRD, weakens of that which some
// definition excludes. Two parts of the status decide under which definition an object is written:
//
//   - The server stores objects under the accepted name of the resource. A definition with the
//     accepted name of another one would write the objects of that one, under its own schema.
//   - If a definition that is deleted is not established, the server does not delete its objects.
//     A new definition of the same name, without the exclusions, would find them.
func (v *Validator) StatusOpenings(newCRD, oldCRD *apiextensions.CustomResourceDefinition) []Opening {
	var out []Opening
	plural := newCRD.Status.AcceptedNames.Plural
	if plural != "" && plural != oldCRD.Status.AcceptedNames.Plural && plural != oldCRD.Spec.Names.Plural {
		out = append(out, Opening{Field: namesField, What: "names another resource, so that the definition writes its objects"})
	}
	withdrawn := apiextensions.IsCRDConditionTrue(oldCRD, apiextensions.Established) &&
		!apiextensions.IsCRDConditionTrue(newCRD, apiextensions.Established)
	if withdrawn && v.excludesAny(oldCRD) {
		out = append(out, Opening{Field: conditionsField,
			What: "do not say any more that the definition is established, so that its objects outlive it"})
	}
	return append(out, v.outliving(newCRD, oldCRD)...)
}

// outliving returns an opening if a definition that is being deleted loses the finalizer by which
// the server deletes the objects first.
func (v *Validator) outliving(newCRD, oldCRD *apiextensions.CustomResourceDefinition) []Opening {
	cleaned := func(crd *apiextensions.CustomResourceDefinition) bool {
		return apiextensions.CRDHasFinalizer(crd, apiextensions.CustomResourceCleanupFinalizer)
	}
	if oldCRD.DeletionTimestamp.IsZero() || !cleaned(oldCRD) || cleaned(newCRD) || !v.excludesAny(oldCRD) {
		return nil
	}
	return []Opening{{Field: finalizersField, What: "lose the finalizer that deletes the objects, so that they outlive the definition"}}
}

// Outlives reports whether the opening is that of a finalizer.
func (o Opening) Outlives() bool { return o.Field == finalizersField && o.Version == "" }

// excludesAny reports whether a version of a definition excludes a field.
func (v *Validator) excludesAny(crd *apiextensions.CustomResourceDefinition) bool {
	return Uses(crd) && slices.ContainsFunc(v.compiledVersions(crd), (*crdVersion).excludes)
}
