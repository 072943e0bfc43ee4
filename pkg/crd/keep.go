// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"kube-granular.dev/granular/schema"
)

// Keep returns a copy of newCRD in which permission extensions of oldCRD replace those of newCRD, so
// that the update opens nothing. openings is what newCRD opens. All other parts of newCRD stay.
//
// Keep puts back the extensions on the way to each field that would open. If that is not enough, it
// puts back all extensions of oldCRD. It returns nil if that is not enough either, because the
// field, its version or its type is gone.
func (v *Validator) Keep(newCRD, oldCRD *apiextensions.CustomResourceDefinition, openings []Opening) *apiextensions.CustomResourceDefinition {
	for _, all := range []bool{false, true} {
		if !all && !Uses(newCRD) {
			continue // the last extension goes
		}
		kept := newCRD.DeepCopy()
		kept.Status = *oldCRD.Status.DeepCopy() // an update does not change the status
		keep(kept, oldCRD, openings, all)
		if len(v.Openings(kept, oldCRD)) == 0 && len(v.Validate(kept, oldCRD)) == 0 {
			kept.Status = *newCRD.Status.DeepCopy()
			return kept
		}
	}
	return nil
}

// keep puts extensions of oldCRD into kept: those on the way to the openings and, if all is set, all
// others.
func keep(kept, oldCRD *apiextensions.CustomResourceDefinition, openings []Opening, all bool) {
	shareNoSchema(kept)
	stored := versionsOf(oldCRD)
	for i := range kept.Spec.Versions {
		version := &kept.Spec.Versions[i]
		if version.Schema == nil || version.Schema.OpenAPIV3Schema == nil {
			continue
		}
		if base := baseOf(version.Name, oldCRD, stored); all && base != nil {
			keepAll(version.Schema.OpenAPIV3Schema, base.full)
		}
		for _, o := range openings {
			if o.Version != version.Name {
				continue
			}
			if index := slices.IndexFunc(stored, func(v *crdVersion) bool { return v.name == o.base }); index >= 0 {
				keepOnWay(version.Schema.OpenAPIV3Schema, stored[index].full, o.way)
			}
		}
	}
	shareSchema(kept)
}

// baseOf returns the version of the stored definition with a name, or else the version that is
// stored.
func baseOf(name string, crd *apiextensions.CustomResourceDefinition, versions []*crdVersion) *crdVersion {
	var out *crdVersion
	for _, v := range versions {
		if v.name == name {
			return v
		}
		if slices.ContainsFunc(crd.Spec.Versions, func(s apiextensions.CustomResourceDefinitionVersion) bool { return s.Name == v.name && s.Storage }) {
			out = v
		}
	}
	return out
}

// keepAll copies to s, and to all schemas nested in it, the extensions that they have in stored. Schemas
// that stored lacks keep theirs.
func keepAll(s, stored *apiextensions.JSONSchemaProps) {
	if stored == nil {
		return
	}
	copyExtensions(s, stored)
	for name := range s.Properties {
		property := s.Properties[name]
		old, ok := stored.Properties[name]
		if ok {
			keepAll(&property, &old)
			s.Properties[name] = property
		}
	}
	if below := values(s); below != nil {
		keepAll(below, values(stored))
	}
	if below := items(s); below != nil {
		keepAll(below, items(stored))
	}
}

// keepOnWay copies to s, and to each schema on a path below it, the extensions they have in stored.
// The keys of list elements on the path count as well, because parameters are made from them.
func keepOnWay(s, stored *apiextensions.JSONSchemaProps, way []schema.Step) {
	copyExtensions(s, stored)
	if below := items(s); below != nil {
		for _, name := range s.XListMapKeys {
			if key, ok := below.Properties[name]; ok {
				copyExtensions(&key, property(items(stored), name))
				below.Properties[name] = key
			}
		}
	}
	if len(way) == 0 {
		return
	}
	step := way[0]
	below := stepInto(s, step)
	if below == nil {
		return
	}
	var old *apiextensions.JSONSchemaProps
	if stored != nil {
		old = stepInto(stored, step)
	}
	keepOnWay(below, old, way[1:])
	if !step.Elem {
		s.Properties[step.Field] = *below // a copy
	}
}

// copyExtensions copies the permission extensions of stored to s, or none if stored is nil.
func copyExtensions(s, stored *apiextensions.JSONSchemaProps) {
	s.DropPermissionExtensions()
	if stored == nil {
		return
	}
	s.XPermissionVerb, s.XPermissionExcluded, s.XPermissionScope = stored.XPermissionVerb, stored.XPermissionExcluded, stored.XPermissionScope
	s.XPermissionParameterSource, s.XPermissionParameterizedBy = stored.XPermissionParameterSource, stored.XPermissionParameterizedBy
	s.XPermissionParameterTreatment, s.XPermissionParameterExpression = stored.XPermissionParameterTreatment,
		stored.XPermissionParameterExpression
}

// shareNoSchema copies the schema to each version, if the internal type has one for all.
func shareNoSchema(crd *apiextensions.CustomResourceDefinition) {
	if crd.Spec.Validation == nil {
		return
	}
	for i := range crd.Spec.Versions {
		if crd.Spec.Versions[i].Schema == nil {
			crd.Spec.Versions[i].Schema = crd.Spec.Validation.DeepCopy()
		}
	}
	crd.Spec.Validation = nil
}

// shareSchema moves the schema of the versions to the definition if all versions have the same, as
// the conversion to the internal type does. Upstream's validation requires that.
func shareSchema(crd *apiextensions.CustomResourceDefinition) {
	for i := range crd.Spec.Versions {
		if !apiequality.Semantic.DeepEqual(crd.Spec.Versions[i].Schema, crd.Spec.Versions[0].Schema) {
			return
		}
	}
	if len(crd.Spec.Versions) == 0 {
		return
	}
	crd.Spec.Validation = crd.Spec.Versions[0].Schema
	for i := range crd.Spec.Versions {
		crd.Spec.Versions[i].Schema = nil
	}
}
