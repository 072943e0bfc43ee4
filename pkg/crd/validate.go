// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"fmt"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/granular"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube-granular.dev/granular/registry"
	"kube-granular.dev/granular/schema"
)

// MaxPermissionsOnPath is the maximum number of permissions on the path from the root of an object
// to one field. A request may have to be checked for each of them, for every field.
const MaxPermissionsOnPath = 8

// Validator validates definitions. It may be used by any number of goroutines.
type Validator struct {
	enabled     func() bool
	expressions schema.Expressions
}

var _ granular.Extensions = &Validator{}

// New returns a Validator. enabled reports whether this server enforces permission extensions.
// expressions compiles the CEL expressions that make parameters of permissions, and accepts only
// what the expressions of a new definition may use.
func New(enabled func() bool, expressions schema.Expressions) *Validator {
	return &Validator{enabled: enabled, expressions: expressions}
}

// Enabled reports whether this server enforces permission extensions.
func (v *Validator) Enabled() bool { return v.enabled() }

// Validate returns errors for the mistakes in newCRD that are not in oldCRD, at most
// schema.MaxProblems. oldCRD is nil if the definition is created. The paths in the errors are paths
// in the version apiextensions.k8s.io/v1, not in the internal version.
func (v *Validator) Validate(newCRD, oldCRD *apiextensions.CustomResourceDefinition) field.ErrorList {
	found := v.mistakes(newCRD)
	if len(found) == 0 {
		return nil
	}
	known := map[mistakeKey]bool{}
	if oldCRD != nil {
		for _, m := range v.mistakes(oldCRD) {
			known[m.key] = true
		}
	}
	var errs field.ErrorList
	for _, m := range found {
		if !known[m.key] && len(errs) < schema.MaxProblems {
			errs = append(errs, m.err)
		}
	}
	return errs
}

// mistakeKey identifies a mistake, so that it is recognized in an updated definition even if the
// update changes the order of the versions.
type mistakeKey struct {
	version, place, detail string
}

type mistake struct {
	key mistakeKey
	err *field.Error
}

// crdVersion is one version of a definition, with what the validation finds out about it.
type crdVersion struct {
	name string
	path *field.Path
	// full is the schema as it was written. schema is what prune returns for it. If all versions
	// share one schema, they share both pointers.
	full, schema *apiextensions.JSONSchemaProps
	// inUse is set if the version is served or stored.
	inUse bool
	// tree is nil if the schema does not compile.
	tree *schema.Tree
}

// versionsOf returns the versions that have a schema. If all versions have the same schema, the
// internal type has the schema only once, in the field spec.validation. The paths are those of
// apiextensions.k8s.io/v1, where each version has the schema.
func versionsOf(crd *apiextensions.CustomResourceDefinition) []*crdVersion {
	var out []*crdVersion
	cut := map[*apiextensions.JSONSchemaProps]*apiextensions.JSONSchemaProps{}
	for i := range crd.Spec.Versions {
		v := &crd.Spec.Versions[i]
		validation := v.Schema
		if validation == nil {
			validation = crd.Spec.Validation
		}
		if validation == nil || validation.OpenAPIV3Schema == nil {
			continue
		}
		whole := validation.OpenAPIV3Schema
		if cut[whole] == nil {
			cut[whole] = prune(whole)
		}
		out = append(out, &crdVersion{
			name:   v.Name,
			path:   field.NewPath("spec", "versions").Index(i).Child("schema", "openAPIV3Schema"),
			full:   whole,
			schema: cut[whole],
			inUse:  v.Served || v.Storage,
		})
	}
	return out
}

func (v *Validator) mistakes(crd *apiextensions.CustomResourceDefinition) []mistake {
	versions := versionsOf(crd)
	uses := false
	for _, version := range versions {
		uses = uses || granular.Uses(version.schema)
	}
	if !uses {
		return nil
	}
	var out []mistake
	if err := ofKubernetes(crd); err != nil {
		out = append(out, mistake{key: mistakeKey{detail: err.Detail}, err: err})
	}
	var shared *crdVersion
	for i, version := range versions {
		if i > 0 && version.schema == versions[0].schema {
			version.tree = shared.tree
			continue // a shared schema is validated once
		}
		if i == 0 {
			shared = version
		}
		errs := v.validateVersion(version)
		if legacy(crd) {
			errs = append(errs, unstructured(version)...)
		}
		for _, err := range errs {
			key := mistakeKey{version: version.name, place: err.Field[len(version.path.String()):], detail: err.Detail}
			out = append(out, mistake{key: key, err: err})
		}
	}
	for _, err := range append(disagreements(crd, versions), mixedTreatments(versions)...) {
		out = append(out, mistake{key: mistakeKey{detail: err.Detail}, err: err})
	}
	return out
}

// ofKubernetes returns an error if Kubernetes itself has the resource of a definition, perhaps in an
// API that this server does not serve. Of such a resource, RBAC's escalation check knows which
// permissions update includes (package included). Other permissions in a definition would let
// callers grant more than they hold.
func ofKubernetes(crd *apiextensions.CustomResourceDefinition) *field.Error {
	name := crd.Spec.Names.Plural + "." + crd.Spec.Group
	all, err := registry.Load()
	if err == nil && !slices.ContainsFunc(all.Kinds, func(k registry.Kind) bool { return slices.Contains(k.Resources, name) }) {
		return nil
	}
	return field.Forbidden(field.NewPath("spec", "names", "plural"),
		fmt.Sprintf("%s is a resource of Kubernetes itself, so a definition of it can't declare permissions", name))
}

// validateVersion returns the errors of one version. If extensions are neither misplaced nor
// refused by the compiler, it sets version.tree.
func (v *Validator) validateVersion(version *crdVersion) field.ErrorList {
	errs := append(misplaced(version.schema, version.path), misplacedNone(version.schema, version.path)...)
	tree, err := v.compile(version.schema)
	if err != nil {
		for _, problem := range schema.ProblemsOf(err) {
			err := fieldError(version, problem)
			if !slices.ContainsFunc(errs, func(e *field.Error) bool { return e.Field == err.Field }) {
				errs = append(errs, err)
			}
		}
		return errs
	}
	if len(errs) == 0 {
		version.tree = tree
	}
	return append(errs, withoutIdentity(version, tree)...)
}
