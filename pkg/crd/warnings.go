// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/granular"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube-granular.dev/granular/registry"
	"kube-granular.dev/granular/schema"
	"kube-granular.dev/pkg/expression"
)

// MaxWarnings is the highest number of warnings for one definition.
const MaxWarnings = 10

// wellKnown reports whether a built-in kind has a permission with this name. Any other permission
// should have a domain in its name, such as example.com/size.
func wellKnown(name string) bool {
	found, err := registry.Lookup(name)
	return err == nil && found != nil
}

// warning is a warning for the author of an accepted definition.
type warning struct {
	// id identifies the warning, in all versions and across updates.
	id   string
	path *field.Path
	text string
}

// Warnings returns the warnings for newCRD that oldCRD did not cause already, at most MaxWarnings.
// It warns of permissions without a domain that no built-in kind has, of well-known permissions
// that are excluded, and of parameter sources that no permission uses. It also warns if the
// definition gets its first permission extension, because its fields then lose the permissions by
// convention (see Complete), if a version loses a field that objects may store, and if versions name
// different permissions for a field. On each write, it warns of stored expressions that a new
// definition could not have.
func (v *Validator) Warnings(newCRD, oldCRD *apiextensions.CustomResourceDefinition) []string {
	seen := map[string]bool{}
	if oldCRD != nil {
		eachWarning(oldCRD, func(w warning) { seen[w.id] = true })
	}
	var out []string
	if oldCRD != nil && usesAny(newCRD) && !usesAny(oldCRD) {
		out = append(out, fmt.Sprintf("%s: the definition now has permission extensions, so spec, status, conditions and replicas have no permissions by convention any more: "+
			"grants of specification, status, conditions, condition(...) and replicas cover only the fields to which you give these permissions", field.NewPath("spec", "versions")))
	}
	out = append(out, costlyExpressions(newCRD)...)
	warn := func(w warning) {
		if seen[w.id] || len(out) >= MaxWarnings {
			return
		}
		seen[w.id] = true
		out = append(out, fmt.Sprintf("%s: %s", w.path, w.text))
	}
	// Without extensions, a server whose roles grant no granular verb says no more than upstream's.
	if oldCRD != nil && (usesAny(newCRD) || usesAny(oldCRD)) {
		warnLost(newCRD, oldCRD, warn)
	}
	eachWarning(newCRD, warn)
	return out
}

// costlyExpressions returns a warning for each parameter expression that exceeds the bounds of new
// ones. Validate refuses it if it is new, so it was stored before these bounds existed.
func costlyExpressions(crd *apiextensions.CustomResourceDefinition) (out []string) {
	seen := map[string]bool{}
	for _, version := range versionsOf(crd) {
		visit(version.schema, version.path, func(s *apiextensions.JSONSchemaProps, path *field.Path) bool {
			text := s.XPermissionParameterExpression
			if text == nil || seen[*text] || len(out) >= MaxWarnings {
				return true
			}
			seen[*text] = true
			if err := expression.Exceeds(*text); err != nil {
				out = append(out, fmt.Sprintf("%s: the expression %v; the server still uses it, because it is stored; replace it, it may slow down each start of the server",
					path.Child(schema.ExtExpression), err))
			}
			return true
		})
	}
	return out
}

// usesAny reports whether some version has a permission extension.
func usesAny(crd *apiextensions.CustomResourceDefinition) bool {
	return slices.ContainsFunc(versionsOf(crd), func(v *crdVersion) bool { return granular.Uses(v.schema) })
}

// eachWarning calls f for each warning in each version.
func eachWarning(crd *apiextensions.CustomResourceDefinition, f func(warning)) {
	domain := crd.Spec.Group
	if !strings.Contains(domain, ".") {
		domain = "example.com"
	}
	versions := versionsOf(crd)
	warnWildcards(crd, versions, f)
	for _, version := range versions {
		sources := unusedSources{}
		visit(version.schema, version.path, func(s *apiextensions.JSONSchemaProps, path *field.Path) bool {
			for _, name := range permissions(s.XPermissionVerb) {
				warnName(&name, s.XPermissionExcluded, domain, path.Child(schema.ExtVerb), f)
			}
			warnName(s.XPermissionScope, false, domain, path.Child(schema.ExtScope), f)
			sources.see(s, path)
			return true
		})
		sources.warn(f)
	}
	warnNames(crd, f)
}

// permissions returns the names in a value of the extension x-kubernetes-permission-verb, which can
// contain two names with a comma between them.
func permissions(verb *string) []string {
	if verb == nil {
		return nil
	}
	return strings.Split(*verb, ",")
}

// warnName calls f with a warning if the name of a permission is neither well-known nor has a
// domain, or if the name is well-known but the permission is excluded: readers of a well-known name
// expect that the permission is part of update.
func warnName(name *string, excluded bool, domain string, path *field.Path, f func(warning)) {
	if name == nil || *name == "" || *name == None || strings.Contains(*name, "/") {
		return
	}
	switch {
	case !wellKnown(*name):
		f(warning{id: "name " + *name, path: path,
			text: fmt.Sprintf("permission %q is not well-known, and another author may use the same name; use %q", *name, domain+"/"+*name)})
	case excluded:
		f(warning{id: "excluded " + *name, path: path,
			text: fmt.Sprintf("permission %q is well-known, and on built-in kinds it is part of update; it is excluded here, so a name of its own is clearer, such as %q", *name, domain+"/"+*name)})
	}
}

// unusedSources collects the parameter sources of one version (order), and the names of the sources
// from which permissions take their parameters (taken). It does not compare where sources and
// permissions are in the schema, because the compiler refuses a permission whose source is not
// above the permission.
type unusedSources struct {
	order []warning
	taken map[string]bool
}

func (u *unusedSources) see(s *apiextensions.JSONSchemaProps, path *field.Path) {
	if source := s.XPermissionParameterSource; source != nil {
		u.order = append(u.order, warning{id: *source, path: path.Child(schema.ExtSource)})
	}
	if expression := s.XPermissionParameterizedBy; expression != nil {
		if u.taken == nil {
			u.taken = map[string]bool{}
		}
		u.taken[*expression] = true
	}
}

func (u *unusedSources) warn(f func(warning)) {
	for _, source := range u.order {
		if u.taken[source.id] {
			continue
		}
		f(warning{id: "source " + source.id, path: source.path,
			text: fmt.Sprintf("no permission below takes the parameter %q: name it in %s", source.id, schema.ExtParameterized)})
	}
}
