// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"cmp"
	"fmt"
	"maps"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube-granular.dev/granular/decide"
	"kube-granular.dev/granular/schema"
)

// comparison compares one version of an updated definition with a version of the stored one.
type comparison struct {
	stored, updated *crdVersion
	found           []Opening
	// seen has the fields for which an opening was found.
	seen map[string]bool
}

func (c *comparison) add(way []schema.Step, format string, args ...any) {
	path := schema.Pattern(way)
	if !c.seen[path] {
		c.seen[path] = true
		c.found = append(c.found, Opening{Version: c.updated.name, Field: path, What: fmt.Sprintf(format, args...), way: way,
			base: c.stored.name})
	}
}

// compare finds the openings. A version whose schema does not compile has no tree that could be
// compared: then its extensions must stay as they are, and its fields may only become more.
// Otherwise an update could change an excluded field first, and another one repair the schema.
func (c *comparison) compare() {
	if c.stored.tree == nil || c.updated.tree == nil {
		if before, after := extensionsAt(c.stored.full), extensionsAt(c.updated.full); !maps.Equal(before, after) {
			c.add(nil, "has other permission extensions, and the server can't compare them, because the schema does not compile")
		} else if where, what := schemaDifference(c.stored.full, c.updated.full, "", true); what != "" {
			c.add(nil, "gets another %s at %s, and the server can't compare more, because the schema does not compile", what, cmp.Or(where, "."))
		}
		return
	}
	c.lost()
	for _, w := range decide.Widenings(c.stored.tree, c.updated.tree, c.stored.expression, c.updated.expression) {
		if w.Verb == "" {
			c.add(w.Way, "is no longer excluded")
		} else {
			c.add(w.Way, "can be changed with another permission, %s", w.Verb)
		}
	}
	c.reshaped()
}

// lost finds the excluded fields that are gone.
func (c *comparison) lost() {
	for place := range c.stored.tree.NodePaths() {
		if !place.Node().ExcludedAt {
			continue
		}
		// The server has its own schema for some fields, which are in neither definition.
		if way := place.Steps(); schemaAt(c.stored.full, way) != nil && schemaAt(c.updated.full, way) == nil {
			c.add(way, "is not in the schema any more")
		}
	}
}

// reshaped finds the excluded fields whose schema reads stored values in another way.
func (c *comparison) reshaped() {
	compared := defaults{}
	for place := range c.stored.tree.NodePaths() {
		if len(place) < 2 || !place.Node().ExcludedAt || place[len(place)-2].ExcludedAt {
			continue
		}
		way := place.Steps()
		if where, what := pathDifference(c.stored.full, c.updated.full, way, compared, true); where != "" {
			c.add(way, "gets another %s at %s", what, where)
		} else if what != "" {
			c.add(way, "gets another %s", what)
		}
	}
}

// expression returns the expression that makes the parameter of the permission at the end of a path.
func (v *crdVersion) expression(way []schema.Step) string {
	if s := schemaAt(v.full, way); s != nil && s.XPermissionParameterExpression != nil {
		return *s.XPermissionParameterExpression
	}
	return ""
}

// schemaAt returns the schema at the end of a path, or nil.
func schemaAt(s *apiextensions.JSONSchemaProps, way []schema.Step) *apiextensions.JSONSchemaProps {
	for _, step := range way {
		if s = stepInto(s, step); s == nil {
			return nil
		}
	}
	return s
}

// extensionsAt returns the permission extensions of a schema and of all schemas nested in it.
func extensionsAt(s *apiextensions.JSONSchemaProps) map[string]string {
	out := map[string]string{}
	visit(s, field.NewPath("schema"), func(s *apiextensions.JSONSchemaProps, path *field.Path) bool {
		s.EachPermissionExtension(func(name string, value any) { out[path.Child(name).String()] = fmt.Sprint(value) })
		return true
	})
	return out
}
