// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

package protect

import (
	"slices"

	"kube-granular.dev/granular/change"
	"kube-granular.dev/granular/schema"
)

// Source is a place in the objects of a resource, such as the metadata of a pod template, whose
// labels or annotations controllers copy into other objects.
type Source struct {
	From Resource
	// Scope is the name of the innermost schema scope that contains the place, such as
	// podTemplate; see schema.Node.Scope. It is empty for the object's own metadata.
	Scope string
	// Kinds are the kinds of attributes that are copied.
	Kinds schema.Attribute
	// Keys are the only keys that are copied. If there are none, all keys are copied.
	Keys []string
	// To are the resources that the attributes are copied to.
	To []Resource
}

// Table maps each resource that attributes are copied from to the resources they are copied to. It
// is immutable.
type Table struct {
	sources map[origin][]Source
}

type origin struct {
	from  Resource
	scope string
}

// NewTable returns a table of sources.
func NewTable(sources ...Source) *Table { return (&Table{}).With(sources...) }

// With returns a table with further sources.
func (t *Table) With(sources ...Source) *Table {
	out := &Table{sources: make(map[origin][]Source, len(t.sources)+len(sources))}
	for key, known := range t.sources {
		out.sources[key] = slices.Clip(known)
	}
	for _, s := range sources {
		key := origin{s.From, s.Scope}
		out.sources[key] = append(out.sources[key], s)
	}
	return out
}

// Targets returns the resources that an attribute ends up in: the object's resource, which is
// resource, if the attribute is in the object's own metadata, and the resources that controllers copy
// the attribute to. known is false for a template without a Source, as in custom resources, and
// for a place that is neither in a scope nor in the object's own metadata. If key is empty, the
// result has the resources of all keys. own is set for the object's own metadata.
func (t *Table) Targets(resource Resource, kind schema.Attribute, key string, scope string, own bool) (out []Resource, known bool) {
	switch {
	case own:
		out = append(out, resource)
	case scope == "":
		return nil, false
	}
	for _, s := range t.sources[origin{resource, scope}] {
		if s.Kinds&kind != 0 {
			known = true
			if len(s.Keys) == 0 || key == "" || slices.Contains(s.Keys, key) {
				out = append(out, s.To...)
			}
		}
	}
	return out, known || own
}

func (t *Table) of(resource Resource, a *change.Attribute) ([]Resource, bool) {
	if a.Embedded {
		return nil, false
	}
	scope := ""
	if scopes := a.Scopes(); len(scopes) > 0 {
		scope = scopes[len(scopes)-1]
	}
	own := scope == "" && len(a.Path) == 2 && a.Path[0].Field == "metadata"
	if a.Unreadable {
		own = scope == "" && len(a.Path) > 0 && a.Path[0].Field == "metadata"
	}
	return t.Targets(resource, a.Kind, a.Key, scope, own)
}

// Target is a resource, together with all resources that the attributes of its objects may end up
// in. These follow from a Table and the permission tree of the kind. A Target is immutable, and is
// made once for a kind.
type Target struct {
	resource Resource
	table    *Table
	// places are the kinds of attributes that the objects may have anywhere: labels, annotations
	// or both.
	places schema.Attribute
	// resources are the resources that attributes of the objects may end up in, as far as they are
	// known.
	resources []targetResource
	// unknown are the kinds of attributes that may end up in any resource.
	unknown schema.Attribute
}

type targetResource struct {
	resource Resource
	kinds    schema.Attribute
}

// Target returns the target of a resource whose objects have the permission tree. If tree is nil,
// attributes may end up in any resource.
func (t *Table) Target(resource Resource, tree *schema.Tree) *Target {
	resource = resource.Canonical()
	out := &Target{resource: resource, table: t}
	if tree == nil {
		out.places, out.unknown = schema.Label|schema.Annotation, schema.Label|schema.Annotation
		return out
	}
	out.places = tree.Root.Attributes()
	for place := range tree.NodePaths() {
		kind := place.Node().Attribute()
		if kind == 0 {
			continue
		}
		scope := ""
		for _, n := range place {
			if s := n.Scope(); s != "" {
				scope = s
			}
		}
		targets, known := t.Targets(resource, kind, "", scope, scope == "" && len(place) == 3 && place[1].Field == "metadata")
		if !known {
			out.unknown |= kind
		}
		for _, r := range targets {
			out.add(r, kind)
		}
	}
	return out
}

// WithEmbedded returns the target of a resource whose objects contain objects that no schema
// describes. So their labels and annotations may end up in any resource.
func (t *Target) WithEmbedded() *Target {
	out := *t
	out.places, out.unknown = schema.Label|schema.Annotation, schema.Label|schema.Annotation
	return &out
}

func (t *Target) add(r Resource, kind schema.Attribute) {
	for i := range t.resources {
		if t.resources[i].resource == r {
			t.resources[i].kinds |= kind
			return
		}
	}
	t.resources = append(t.resources, targetResource{r, kind})
}

// namespace returns the namespace whose entries apply to an object. Authorizers treat the
// Namespace x as an object in namespace x. Here a Namespace is in no namespace: only entries of
// the cluster apply to it, because the administrator of a namespace must not decide about the
// labels of the Namespace itself.
func (t *Target) namespace(name string) string {
	if t.resource == (Resource{Resource: "namespaces"}) {
		return ""
	}
	return name
}

// Origins returns the resources with attributes that controllers copy to others, in no particular order.
func (t *Table) Origins() []Resource {
	out := make([]Resource, 0, len(t.sources))
	for key := range t.sources {
		out = append(out, key.from)
	}
	return out
}
