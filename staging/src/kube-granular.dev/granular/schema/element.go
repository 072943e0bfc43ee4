// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"kube-granular.dev/granular/permission"
)

// element describes the permission that each element of a list-map has of its own. The parameter is the
// key of the element. The list declares it with the extension ExtElement:
//
//	containers                  podTemplateContainer(app)       all of the element app
//	containers[app].image       podTemplateContainerImage(app)  the field that podTemplateImage covers
//
// So each permission inside that has no parameter also exists for one element. Only the permission
// of the whole element covers its presence and its key: a holder of another one can't add, remove
// or rename an element.
type element struct {
	// name includes the scope.
	name      string
	parameter Parameter
}

// namedElement returns what the list l declares for its elements, or the element around the list. p
// is the context of the elements.
func namedElement(kind NodeKind, l layers, p compileContext) (*element, error) {
	name, err := l.text(ExtElement)
	if err != nil || name == "" {
		return p.element, err
	}
	source, err := l.text(ExtSource)
	if err != nil {
		return nil, err
	}
	if kind != ListMap || source == "" {
		return nil, faultf(ExtElement, "has an effect only on a list of type map with %s", ExtSource)
	}
	if err := permission.Validate(name); err != nil {
		return nil, faultf(ExtElement, "%v", err)
	}
	return &element{name: permission.Scoped(p.scope, name), parameter: *p.parameterFrom(source)}, nil
}

// begins reports whether a path leads to an element itself, and not to a field inside.
func (e *element) begins(path *schemaPath) bool {
	return e != nil && path.depth() == e.parameter.SourceDepth+1
}

// permission returns the permission of one element for what a permission inside covers, or for the
// whole element if the name is "".
func (e *element) permission(inside string) Permission {
	parameter := e.parameter
	return Permission{Name: permission.Scoped(e.name, inside), Parameter: &parameter, Element: true}
}
