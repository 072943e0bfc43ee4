// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"k8s.io/kube-openapi/pkg/validation/spec"

	"kube-granular.dev/granular/schema"
)

// branch is one place of a schema that has only the fields on the way to entries.
type branch struct {
	fields map[string]*branch
	// elements is the place of the elements of a list, values that of the values of a map.
	elements, values *branch
	entries          []schema.Entry
}

// add adds an entry at a path. maps tells for each step whether it leads to the values of a map.
func (b *branch) add(path Path, maps []bool, e schema.Entry) {
	for i, step := range path {
		switch {
		case !step.Every:
			if b.fields == nil {
				b.fields = map[string]*branch{}
			}
			if b.fields[step.Name] == nil {
				b.fields[step.Name] = &branch{}
			}
			b = b.fields[step.Name]
		case maps[i]:
			if b.values == nil {
				b.values = &branch{}
			}
			b = b.values
		default:
			if b.elements == nil {
				b.elements = &branch{}
			}
			b = b.elements
		}
	}
	b.entries = append(b.entries, e)
}

// schema returns the place and all below it as a schema.
func (b *branch) schema() *spec.Schema {
	out := &spec.Schema{}
	if b.entries != nil {
		schema.SetEntries(out, b.entries)
	}
	if len(b.fields) > 0 {
		out.Properties = make(map[string]spec.Schema, len(b.fields))
		for name, below := range b.fields {
			out.Properties[name] = *below.schema()
		}
	}
	if b.elements != nil {
		out.Items = &spec.SchemaOrArray{Schema: b.elements.schema()}
	}
	if b.values != nil {
		out.AdditionalProperties = &spec.SchemaOrBool{Allows: true, Schema: b.values.schema()}
	}
	return out
}
