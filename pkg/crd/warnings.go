// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"fmt"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube-granular.dev/granular/registry"
	"kube-granular.dev/granular/schema"
)

// MaxWarnings is how many permissions of one definition are warned about.
const MaxWarnings = 10

// wellKnown says whether a permission may be used without a domain: those of the
// built-in kinds may. Who uses one of them means the same concept.
func wellKnown(name string) bool {
	found, err := registry.Lookup(name)
	return err == nil && found != nil
}

// Warnings gives one for each permission of newCRD without a domain that no
// built-in kind has, unless oldCRD has it already.
func (v *Validator) Warnings(newCRD, oldCRD *apiextensions.CustomResourceDefinition) []string {
	seen := map[string]bool{}
	if oldCRD != nil {
		unqualified(oldCRD, func(name string, _ *field.Path) { seen[name] = true })
	}
	domain := newCRD.Spec.Group
	if !strings.Contains(domain, ".") {
		domain = "example.com"
	}
	var out []string
	unqualified(newCRD, func(name string, path *field.Path) {
		if seen[name] || len(out) >= MaxWarnings {
			return
		}
		seen[name] = true
		out = append(out, fmt.Sprintf("%s: permission %q is not well-known, somebody else's may be called the same; use %q", path, name, domain+"/"+name))
	})
	return out
}

// unqualified calls f for each permission without a domain.
func unqualified(crd *apiextensions.CustomResourceDefinition, f func(name string, path *field.Path)) {
	for _, version := range versionsOf(crd) {
		visit(version.schema, version.path, func(s *apiextensions.JSONSchemaProps, path *field.Path) bool {
			for extension, name := range map[string]*string{schema.ExtVerb: s.XPermissionVerb, schema.ExtScope: s.XPermissionScope} {
				if name != nil && *name != "" && !strings.Contains(*name, "/") && !wellKnown(*name) {
					f(*name, path.Child(extension))
				}
			}
			return true
		})
	}
}
