// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube-granular.dev/granular/permission"
	"kube-granular.dev/granular/schema"
)

// treatedPlace is a field with a permission that takes a parameter.
type treatedPlace struct {
	version *crdVersion
	path    schema.NodePath
	// exact reports whether the permission has verbs for one key, besides those for a domain of keys.
	exact bool
}

// mixedTreatments returns an error for each permission that has verbs for one key in one field, and takes
// a whole key or value as its parameter in another one, also in another version. A verb such as mark(a/b)
// would mean both, so who may change the one field could change the other as well.
func mixedTreatments(versions []*crdVersion) field.ErrorList {
	var errs field.ErrorList
	places := map[string]treatedPlace{}
	for _, version := range versions {
		if !version.inUse || version.tree == nil {
			continue
		}
		for path := range version.tree.NodePaths() {
			for _, p := range path.Node().Own() {
				split := p.Parameter != nil && p.Parameter.Treatment == permission.SlashDelimitedPrefix
				if p.Parameter == nil || split && p.Excluded {
					continue // it has no verb with a slash
				}
				here := treatedPlace{version, path, split}
				known, ok := places[p.Name]
				if !ok {
					places[p.Name] = here
				}
				if ok && known.exact != split {
					errs = append(errs, mixture(p.Name, known, here))
				}
			}
		}
	}
	return errs
}

// mixture returns the error for a permission at two places, at the one that the definition can change:
// metadata is the same in all definitions.
func mixture(name string, a, b treatedPlace) *field.Error {
	if strings.HasPrefix(b.path.Pattern(), ".metadata.") {
		a, b = b, a
	}
	place, _ := descend(b.version, b.path.Steps())
	keys, whole := a, b
	if b.exact {
		keys, whole = b, a
	}
	return field.Invalid(place.Child(schema.ExtVerb), name, fmt.Sprintf(
		"the permission takes a key apart at the slash at %s, and not at %s, so one verb would mean two things: use another name",
		keys.path.Pattern(), whole.path.Pattern()))
}
