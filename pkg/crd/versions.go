// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube-granular.dev/granular/permission"
	"kube-granular.dev/granular/schema"
)

// disagreements returns an error for each excluded permission (one that `update` does not include)
// that one version has and another lacks. A write through the version that lacks the permission
// could change, or drop, the field that needs the permission in the other version. Versions that
// are neither served nor stored are not compared. Without a conversion webhook, all versions have
// the same fields. Then it also returns an error for each excluded permission that is on different
// fields in two versions, has different parameters, or is on a field with different schemas.
func disagreements(crd *apiextensions.CustomResourceDefinition, versions []*crdVersion) field.ErrorList {
	converted := crd.Spec.Conversion != nil && crd.Spec.Conversion.Strategy == apiextensions.WebhookConverter
	var errs field.ErrorList
	var first *crdVersion
	var expected map[string]string
	for _, v := range versions {
		if !v.inUse || v.tree == nil {
			continue
		}
		excluded := excludedIn(v.tree)
		if first == nil {
			first, expected = v, excluded
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(expected)) {
			places, ok := excluded[name]
			switch {
			case !ok:
				errs = append(errs, disagreement(v, "does not exclude permission %s, but version %s does", name, first.name))
			case !converted && places != expected[name]:
				errs = append(errs, disagreement(v,
					"excludes permission %s at %s, but version %s excludes it at %s; without a conversion webhook both versions hold the same fields",
					name, places, first.name, expected[name]))
			}
		}
		for _, name := range slices.Sorted(maps.Keys(excluded)) {
			if _, ok := expected[name]; !ok {
				errs = append(errs, disagreement(v, "excludes permission %s, but version %s does not", name, first.name))
			}
		}
		if !converted {
			errs = append(errs, parameterDifferences(first, v)...)
			errs = append(errs, shapeDifferences(first, v)...)
		}
	}
	return errs
}

func disagreement(v *crdVersion, format string, args ...any) *field.Error {
	return field.Invalid(v.path, field.OmitValueType{}, fmt.Sprintf("version %s ", v.name)+fmt.Sprintf(format, args...))
}

// excludedIn returns the excluded permissions of a tree. The keys are the names of the permissions,
// followed by "(…)" if a permission has a parameter. The values are the paths of the fields that
// have the permission, sorted and separated by commas.
func excludedIn(tree *schema.Tree) map[string]string {
	places := map[string][]string{}
	for _, info := range tree.Permissions() {
		if !info.Excluded {
			continue
		}
		name := info.Name
		if info.Parameter != nil {
			name += "(…)"
		}
		places[name] = append(places[name], info.Pattern)
	}
	out := map[string]string{}
	for name, patterns := range places {
		slices.Sort(patterns)
		out[name] = strings.Join(patterns, ", ")
	}
	return out
}

// parameterDifferences returns an error for each excluded permission whose parameter two versions
// compute in different ways, from the same stored field. A caller could choose the version that asks
// for the parameter that the caller holds.
func parameterDifferences(first, v *crdVersion) field.ErrorList {
	if first.full == v.full {
		return nil
	}
	var errs field.ErrorList
	expected, found := parametersIn(first), parametersIn(v)
	for _, path := range slices.Sorted(maps.Keys(expected)) {
		if kind, ok := found[path]; ok && kind != expected[path] {
			errs = append(errs, disagreement(v, "makes the parameter of %s in another way than version %s; without a conversion webhook both versions hold the same fields", path, first.name))
		}
	}
	return errs
}

// parameterKind is how the parameter of a permission is computed. Names of parameter sources do not
// matter.
type parameterKind struct {
	depth, key        int
	fromValue         bool
	field, expression string
	treatment         permission.Treatment
}

// parametersIn returns how the parameters of excluded permissions are computed. The keys have the
// names of the permissions and the paths of the fields.
func parametersIn(v *crdVersion) map[string]parameterKind {
	out := map[string]parameterKind{}
	for place := range v.tree.NodePaths() {
		n := place.Node()
		if !n.ExcludedAt {
			continue
		}
		schema := v.full
		for _, step := range place.Steps() {
			schema = stepInto(schema, step)
		}
		for _, p := range n.Chain() {
			if !p.Excluded || p.Parameter == nil {
				continue
			}
			kind := parameterKind{p.Parameter.SourceDepth, p.Parameter.SourceKey, p.Parameter.FromValue, p.Parameter.Field, "", p.Parameter.Treatment}
			if text := schema.XPermissionParameterExpression; text != nil {
				kind.expression = *text
			}
			out[fmt.Sprintf("permission %s(…) at %s", p.Name, place.Pattern())] = kind
		}
	}
	return out
}
